import { isSessionError, type Session, type SessionEvent, type Sessions } from '@tidemark/session-core'
import type { Bus } from './bus.ts'
import type { Compaction } from './compaction.ts'
import { automaticAttempts, compactions } from './compactions.ts'
import type { Budget } from './budget.ts'
import type { Settings } from './config.ts'
import type { OverBudgets } from './over-budgets.ts'
import { mayTry } from './may-try.ts'
import { Refusals } from './refusals.ts'
import type { Runs } from './runs.ts'
import { roughTokens } from './size.ts'
import { readStatus } from './status.ts'
import { countInTurns } from './token-count.ts'

interface Own {
  readonly sessions: Sessions
  readonly compaction: Compaction
  readonly runs: Runs
  readonly overs: OverBudgets
  readonly settings: Settings
  readonly budget: Budget
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
  private readonly refusals: Refusals
  private closed = false

  constructor(private readonly own: Own) {
    this.refusals = new Refusals(own.budget, own.settings.attemptsMax)
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
    this.own.runs.trySettle(session)
    if (!this.refusals.mayTry(session)) return
    this.busy.add(session)
    const since = session.log.length
    try {
      await this.attend(session)
    } catch (error) {
      if (!isExpected(error)) this.failed(session, error, since)
    } finally {
      this.busy.delete(session)
    }
  }

  /** What was begun tells of its own end. What was not has to be told here, and counted. */
  private failed(session: Session, cause: unknown, since: number): void {
    const { bus, overs } = this.own
    bus.report(cause)
    if (this.closed || !this.isOurs(session) || hasBegun(session, since)) return
    const { count, sizeBytes = Infinity } = this.refusals.add(session)
    // No text has more tokens than bytes: of so small a session nothing was to be begun.
    if (sizeBytes <= this.own.budget.triggerTokens) return
    if (Number.isFinite(sizeBytes)) this.record(session, cause, sizeBytes)
    overs.tellRefused(session, cause, count)
  }

  /** As durably as the session allows: a start that ended at once, which counts as a try in its next lives as well. */
  private record(session: Session, cause: unknown, sizeBytes: number): void {
    const { runs, bus } = this.own
    const range = { from: 0, through: session.log.length - 1 }
    const start = { id: globalThis.crypto.randomUUID(), trigger: 'automatic', range, sizeBytes } as const
    try {
      if (this.mayRecord(session, sizeBytes)) runs.fail(session, start, cause)
    } catch (error) {
      // Most often what the start itself was refused with.
      if (!isSessionError(error)) throw error
      if (!isSessionError(cause) || cause.code !== error.code) bus.report(error)
    }
  }

  /** The log tells of no more failures than it would if each of them had been begun. */
  private mayRecord(session: Session, sizeBytes: number): boolean {
    const { budget, settings } = this.own
    const { count: attempts, tokensAtLast } = automaticAttempts(session.read(compactions))
    const { contextTokensMax } = budget
    const tried = { attempts, attemptsMax: settings.attemptsMax, contextTokensMax, tokensAtLast }
    return mayTry({ ...tried, tokensNow: roughTokens(sizeBytes) })
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
    const { compaction, overs } = this.own
    await countInTurns(session.messages(), this.own.budget.tokenizer)
    if (this.closed || !this.isOurs(session)) return
    let { status, isDue } = this.read(session)
    if (status.isOver && !status.live) {
      await this.prune(session)
      ;({ status, isDue } = this.read(session))
    }
    if (!status.isOver) return this.forget(session)
    if (status.isExhausted) return overs.tell(session, 'attempts-exhausted')
    if (!isDue && !status.live && status.attempts === 0) return overs.tell(session, 'not-enough')
    if (!isDue || this.closed || !this.isOurs(session)) return
    try {
      const result = await compaction.compact(session, { trigger: 'automatic' })
      this.refusals.forget(session)
      if (result.outcome === 'nothing') return overs.tell(session, result.reason)
    } catch (error) {
      if (!isSessionError(error) || error.code !== 'PINS_TOO_LARGE') throw error
      return overs.tell(session, 'facts-too-large')
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

  private forget(session: Session): void {
    this.own.overs.forget(session)
    this.refusals.forget(session)
  }
}

/** Whether a compaction was begun from there on, whatever became of it. */
function hasBegun({ log }: Session, since: number): boolean {
  return [...log.range(Math.max(since, log.base))].some(({ type }) => type === 'compact/start')
}

/** Somebody else was faster, or the session ended. */
function isExpected(error: unknown): boolean {
  return isSessionError(error) && (error.code === 'BUSY' || error.code === 'DISPOSED')
}
