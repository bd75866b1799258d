import type { Session, Sessions, SessionView } from '@tidemark/session-core'
import type { Handle } from './handle.ts'
import type { AuthorizeQuestion } from './host.ts'
import { inTime } from './in-time.ts'
import { refusal } from './refusal.ts'

/** Sessions that handles were let at, and that are not made yet. */
const askedMax = 10_000

/**
 * Which handle each stored session of this process was opened as. A store asks for leave to write as that handle, so
 * what the session holds has to be written while it is open.
 *
 * 1. A session is never left out: where two handles asked for it at once, it is of both, until it is written.
 * 2. Nothing here waits longer than `flushMsMax`.
 */
export class SessionOpenings {
  /** Also after the service is gone: then there is nothing in it. */
  private sessions: Sessions | undefined
  private readonly asked = new Map<string, Set<Handle>>()
  private readonly openers = new WeakMap<SessionView, ReadonlySet<Handle>>()

  constructor(private readonly flushMsMax: number) {}

  join(sessions: Sessions): void {
    this.sessions = sessions
  }

  /** A handle was let at a session: it may be opened now, or it is written. */
  allowed(question: AuthorizeQuestion, handle: Handle): void {
    const { operation, sessionId } = question
    if (operation === 'flush') {
      const session = this.sessions?.find(sessionId)
      if (session) this.openers.set(session, new Set([handle]))
      return
    }
    const id = idToOpen(question)
    if (id === undefined) return
    const asking = this.asked.get(id) ?? new Set()
    this.asked.delete(id)
    this.asked.set(id, asking.add(handle))
    // The oldest came to nothing: an opening takes no such time.
    for (const [oldest] of this.asked) {
      if (this.asked.size <= askedMax) break
      this.asked.delete(oldest)
    }
  }

  /** @throws SessionError `DISPOSED` (`closed`) where whoever asked for it is over: nothing of it could be written. */
  begun(session: SessionView): void {
    const asking = this.asked.get(session.id)
    if (asking === undefined || (session as Partial<Session>).kind !== 'stored') return
    this.asked.delete(session.id)
    const open = [...asking].filter(({ isOpen }) => isOpen)
    if (open.length === 0) throw refusal('closed', `${session.id}: its handle closed while it was opened`)
    this.openers.set(session, new Set(open))
  }

  /** Ends what was opened as a handle: written, then released. What the first failed with, if one did. */
  async end(handle: Handle): Promise<Error | undefined> {
    const own = [...(this.sessions ?? [])].filter((session) => this.openers.get(session)?.has(handle))
    const ends = await Promise.allSettled(own.map((session) => this.inTime(session.id, this.endOne(session))))
    return ends.find((end) => end.status === 'rejected')?.reason as Error | undefined
  }

  /** Resolves when all that these hold is durable. */
  async flush(sessions: readonly Session[]): Promise<void> {
    await Promise.all(sessions.map((session) => this.inTime(session.id, session.flush())))
  }

  private async endOne(session: Session): Promise<void> {
    session.end()
    try {
      await session.flush()
    } finally {
      await this.sessions?.dispose(session)
    }
  }

  private async inTime(id: string, work: Promise<unknown>): Promise<void> {
    await inTime(work, this.flushMsMax, () => {
      throw refusal('unavailable', `${id}: what it holds was not written in ${this.flushMsMax} ms`)
    })
  }
}

function idToOpen({ operation, sessionId, childId }: AuthorizeQuestion): string | undefined {
  if (operation === 'create' || operation === 'resume') return sessionId
  return operation === 'fork' || operation === 'salvage' ? childId : undefined
}
