import { SessionError, type Session } from '@tidemark/session-core'
import { compaction } from './bracket.ts'
import type { CompactEnd } from './event.ts'
import type { CompactionResult } from './result.ts'
import { Run, type Task } from './run.ts'

/**
 * The compactions that this plugin instance is running.
 *
 * 1. The log says whether a session is busy, and this map never does.
 * 2. Nothing is begun after `close`.
 */
export class Runs {
  private readonly running = new Map<Session, Run>()
  /** Ends that a session did not take when they were due. */
  private readonly left = new WeakMap<Session, CompactEnd>()
  private closed = false

  constructor(private readonly report: (error: unknown) => void) {}

  /** @throws SessionError `DISPOSED` once closed, `BUSY` while one is live in the session; nothing was recorded. */
  refuseBusy(session: Session): void {
    if (this.closed)
      throw new SessionError('DISPOSED', 'this compaction plugin was unloaded; nothing was begun')
    this.settleLeft(session)
    const live = session.open(compaction).find(({ status }) => status === 'live')
    if (live === undefined) return
    const { id } = session
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
      if (left) this.left.set(session, left)
    })
    this.running.set(session, run)
    try {
      run.start()
    } catch (error) {
      this.running.delete(session)
      throw error
    }
    // The caller may look late, or never: that must not end the process.
    run.result.catch(this.report)
    return run.result
  }

  /** The session is over, and so is its compaction. */
  drop(session: Session): void {
    this.running.get(session)?.drop()
  }

  /** Cancels what is running and says so in each log, at once: the vocabulary is about to go. */
  close(): void {
    this.closed = true
    for (const run of [...this.running.values()]) run.cancel('UNLOADED')
  }

  /** A session that took no events for a while would else stay busy with a compaction that is over. */
  private settleLeft(session: Session): void {
    const end = this.left.get(session)
    if (end === undefined) return
    const isLive = session.open(compaction).some(({ key, status }) => key === end.id && status === 'live')
    if (isLive) session.append('compact/end', end)
    this.left.delete(session)
  }
}
