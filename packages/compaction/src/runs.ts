import { SessionError, type Session } from '@tidemark/session-core'
import { compaction } from './bracket.ts'
import type { Bus } from './bus.ts'
import type { CompactStart } from './event.ts'
import type { CompactionEnded, CompactionResult } from './result.ts'
import { LeftEnds } from './left-ends.ts'
import type { OverBudgets } from './over-budgets.ts'
import { recordEnd } from './record-end.ts'
import { Run, type Task } from './run.ts'

/**
 * The compactions that this plugin instance is running.
 *
 * 1. The log says whether a session is busy, and this map never does.
 * 2. Nothing is begun after `close`.
 * 3. An end that a session did not take is tried again before anything else is begun.
 */
export class Runs {
  private readonly running = new Map<Session, Run>()
  private readonly left: LeftEnds
  /** Sessions that were disposed while this was loaded: what is live in them stays so in their log. */
  private readonly disposed = new WeakSet<Session>()
  private closed = false

  constructor(
    private readonly bus: Bus,
    private readonly overs: OverBudgets,
  ) {
    this.left = new LeftEnds(bus)
  }

  /**
   * @throws SessionError `DISPOSED` once closed and for a session that is over, `BUSY` while one is live in it; nothing
   * was recorded.
   */
  refuseBusy(session: Session): void {
    if (this.closed)
      throw new SessionError('DISPOSED', 'this compaction plugin was unloaded; nothing was begun')
    const { id } = session
    if (this.disposed.has(session))
      throw new SessionError('DISPOSED', `${id}: this session is over; nothing was begun`, { sessionId: id })
    this.left.settle(session)
    const live = session.open(compaction).find(({ status }) => status === 'live')
    if (live === undefined) return
    throw new SessionError('BUSY', `${id}: a compaction is live since seq ${live.seq}`, {
      sessionId: id,
      seq: live.seq,
    })
  }

  /** Starts one. Throws what the append of its start throws; then nothing has begun. */
  begin(session: Session, task: Task): Promise<CompactionResult> {
    const run = new Run(session, task, (left) => {
      // A listener that heard of the end may have begun the next one.
      if (this.running.get(session) === run) this.running.delete(session)
      if (left !== undefined) this.left.leave(session, left)
    })
    this.running.set(session, run)
    try {
      run.start()
    } catch (error) {
      this.running.delete(session)
      throw error
    }
    // The caller may look late, or never: that must not end the process.
    void this.tellEnd(session, task, run.result)
    return run.result
  }

  /** Resolves when none is running here, whatever becomes of those that are. */
  async idle(session: Session): Promise<void> {
    for (let run = this.running.get(session); run; run = this.running.get(session)) {
      await run.result.catch(() => undefined) // told to who began it
    }
  }

  /**
   * Records one that cannot be begun, so that it counts as a try. Throws what `refuseBusy` and the append of the start
   * throw.
   */
  fail(session: Session, start: CompactStart, cause: unknown): void {
    this.refuseBusy(session)
    const { id, trigger } = start
    const end = { id, outcome: 'failed', error: { code: 'START_FAILED' } } as const
    const { seq } = session.append('compact/start', start)
    try {
      recordEnd(session, end, seq)
    } catch (error) {
      if (!this.disposed.has(session)) this.left.leave(session, end)
      this.bus.report(error)
    }
    const ended: CompactionEnded = { ...end, trigger, error: { ...end.error, cause } }
    this.bus.tell('tidemark/compaction', session, Object.freeze(ended))
  }

  /** The session may take now an end that it did not take before. */
  retry(session: Session): void {
    this.left.retry(session)
  }

  /** The same at once. */
  trySettle(session: Session): void {
    this.left.trySettle(session)
  }

  /** The session is over, and so is its compaction. */
  drop(session: Session): void {
    this.disposed.add(session)
    this.running.get(session)?.drop()
    this.left.forget(session)
  }

  /** Cancels what is running and says so in each log, at once: the vocabulary is about to go. */
  close(): void {
    this.closed = true
    for (const run of [...this.running.values()]) run.cancel('UNLOADED')
    this.left.close()
  }

  private async tellEnd(session: Session, task: Task, result: Promise<CompactionResult>): Promise<void> {
    const { id, trigger } = task.start
    let ended: CompactionEnded
    try {
      const how = await result
      if (how.outcome === 'nothing') return
      ended = { ...how, trigger }
      if (how.outcome === 'applied' && how.facts.missing.length > 0) {
        const missing = { id, keys: how.facts.missing }
        this.bus.tell('tidemark/facts-missing', session, Object.freeze(missing))
        this.bus.report(`${session.id}: ${missing.keys.length} facts in force are not shown after ${id}`)
      }
    } catch (cause) {
      this.bus.report(cause)
      ended = { outcome: 'unrecorded', id, trigger, cause }
    }
    this.bus.tell('tidemark/compaction', session, Object.freeze(ended))
    if (task.fit && ended.outcome === 'applied')
      this.overs.judgeApplied(session, ended.isOverContext === true)
  }
}
