import type { Session } from '@tidemark/session-core'
import { compaction } from './bracket.ts'
import type { Bus } from './bus.ts'
import type { CompactEnd } from './event.ts'
import { recordEnd } from './record-end.ts'

interface Left {
  readonly end: CompactEnd
  /** Until the next try, where nothing calls for one before. */
  readonly delayMs: number
  readonly soon?: NodeJS.Immediate
  readonly later?: ReturnType<typeof setTimeout>
}

const delayMsMin = 50
const delayMsMax = 30_000

/**
 * Ends that a session did not take when they were due. Without them it would be busy with a compaction that is over.
 *
 * 1. Each is tried again soon, whenever something says that the session may take it now, and where nothing does, after
 *    a delay that is doubled each time, up to half a minute.
 * 2. No timer is left for one that was taken, nor after `close`.
 */
export class LeftEnds {
  private readonly left = new Map<Session, Left>()
  private closed = false

  constructor(private readonly bus: Bus) {}

  leave(session: Session, end: CompactEnd): void {
    this.left.set(session, { end, delayMs: delayMsMin })
    this.retry(session)
  }

  /** The session may take now what it did not take before. */
  retry(session: Session): void {
    const left = this.left.get(session)
    if (left === undefined || left.soon !== undefined || this.closed) return
    this.left.set(session, { ...left, soon: setImmediate(() => this.again(session)) })
  }

  /** @throws what the session refuses the end with. */
  settle(session: Session): void {
    const { end } = this.left.get(session) ?? {}
    if (end === undefined) return
    const live = session.open(compaction).find(({ key, status }) => key === end.id && status === 'live')
    if (live) recordEnd(session, end, live.seq)
    this.forget(session)
  }

  /** Where it is refused again, the session is as it was. */
  trySettle(session: Session): void {
    try {
      this.settle(session)
    } catch (error) {
      // Told once: who writes the log may be gone for good, and then the next boundary ends it.
      if (this.left.get(session)?.delayMs === delayMsMin) this.bus.report(error)
    }
  }

  forget(session: Session): void {
    const { soon, later } = this.left.get(session) ?? {}
    clearImmediate(soon)
    clearTimeout(later)
    this.left.delete(session)
  }

  /** Each is tried once more, and none after that. */
  close(): void {
    this.closed = true
    for (const session of [...this.left.keys()]) {
      this.trySettle(session)
      this.forget(session)
    }
  }

  private again(session: Session): void {
    this.trySettle(session)
    const left = this.left.get(session)
    if (left === undefined) return
    clearTimeout(left.later)
    const later = setTimeout(() => this.again(session), left.delayMs)
    later.unref() // a process that is done is not kept for it
    const delayMs = Math.min(left.delayMs * 2, delayMsMax)
    this.left.set(session, { end: left.end, delayMs, later })
  }
}
