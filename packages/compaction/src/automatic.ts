import { isSessionError, type Session, type SessionEvent, type Sessions } from '@tidemark/session-core'
import type { Bus } from './bus.ts'
import type { Compaction } from './compaction.ts'
import type { Settings } from './config.ts'
import { readStatus, type OverBudget, type OverBudgetReason } from './status.ts'

interface Own {
  readonly sessions: Sessions
  readonly compaction: Compaction
  readonly settings: Settings
  readonly bus: Bus
}

/**
 * Those of this process that would act, oldest first: of several for the same sessions the first one does. By
 * vocabulary, since each plugin sees the service through a proxy of its own.
 */
const acting = new WeakMap<Sessions['vocabulary'], Set<Automatic>>()

/**
 * Compacts sessions that get over their budget, at the end of a step or a turn and when they begin.
 *
 * 1. It appends nothing while a listener is being told of an event; the host never waits for it.
 * 2. A session is looked at once at a time.
 * 3. Nothing is begun after `close`.
 */
export class Automatic {
  private readonly waiting = new Map<Session, NodeJS.Immediate>()
  private readonly busy = new WeakSet<Session>()
  /** What the bus was told of sessions that are over their budget. */
  private readonly told = new WeakMap<Session, OverBudgetReason>()
  private closed = false

  constructor(private readonly own: Own) {
    const others = acting.get(own.sessions.vocabulary) ?? new Set()
    acting.set(own.sessions.vocabulary, others.add(this))
  }

  heard(session: Session, { type }: Pick<SessionEvent, 'type'>): void {
    if (type === 'step/end' || type === 'turn/end') this.notice(session)
  }

  /** Looks at a session soon. */
  notice(session: Session): void {
    if (this.closed || this.waiting.has(session) || !this.isOurs(session)) return
    const look = (): void => {
      this.waiting.delete(session)
      void this.look(session)
    }
    this.waiting.set(session, setImmediate(look))
  }

  /** Those that were there before. */
  noticeAll(): void {
    for (const session of this.own.sessions) this.notice(session)
  }

  close(): void {
    this.closed = true
    for (const immediate of this.waiting.values()) clearImmediate(immediate)
    this.waiting.clear()
    acting.get(this.own.sessions.vocabulary)?.delete(this)
  }

  /** Other hosts of this process tell of their sessions on the same bus. */
  private isOurs(session: Session): boolean {
    return this.own.sessions.find(session.id) === session
  }

  private async look(session: Session): Promise<void> {
    const [first] = acting.get(this.own.sessions.vocabulary) ?? []
    if (first !== this || this.busy.has(session)) return
    this.busy.add(session)
    try {
      await this.attend(session)
    } catch (error) {
      if (!isExpected(error)) this.own.bus.report(error)
    } finally {
      this.busy.delete(session)
    }
  }

  private async attend(session: Session): Promise<void> {
    try {
      await this.compact(session)
    } catch (error) {
      if (!isSessionError(error) || error.code !== 'NOT_LOADED') throw error
      await session.loadAll() // a session that was resumed with its end only
      await this.compact(session)
    }
  }

  private async compact(session: Session): Promise<void> {
    const { compaction } = this.own
    if (this.closed || !this.isOurs(session)) return
    let { status, isDue } = this.read(session)
    if (status.isOver && !status.live) {
      await this.prune(session)
      ;({ status, isDue } = this.read(session))
    }
    if (!status.isOver) return void this.told.delete(session)
    if (status.isExhausted) return this.tell(session, 'attempts-exhausted')
    if (!isDue && !status.live && status.attempts === 0) return this.tell(session, 'not-enough')
    if (!isDue || this.closed || !this.isOurs(session)) return
    try {
      const result = await compaction.compact(session, { trigger: 'automatic' })
      if (result.outcome === 'nothing') return this.tell(session, result.reason)
    } catch (error) {
      if (!isSessionError(error) || error.code !== 'PINS_TOO_LARGE') throw error
      return this.tell(session, 'facts-too-large')
    }
    // What came meanwhile may call for the next one; what was told of the last one may be true no more.
    this.notice(session)
  }

  private async prune(session: Session): Promise<void> {
    const { compaction, settings } = this.own
    const { pruneResultsSizeBytes: resultSizeBytesMax } = settings
    if (resultSizeBytesMax !== undefined) await compaction.prune(session, { resultSizeBytesMax })
  }

  private read(session: Session): ReturnType<typeof readStatus> {
    return readStatus(session, this.own.settings)
  }

  /** Once, until the reason changes or the session is within its budget again. */
  private tell(session: Session, reason: OverBudgetReason): void {
    if (this.told.get(session) === reason) return
    this.told.set(session, reason)
    const notice: OverBudget = Object.freeze({ ...this.read(session).status, reason })
    this.own.bus.tell('tidemark/over-budget', session, notice)
  }
}

/** Somebody else was faster, or the session ended. */
function isExpected(error: unknown): boolean {
  return isSessionError(error) && (error.code === 'BUSY' || error.code === 'DISPOSED')
}
