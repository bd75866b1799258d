import { boundaryType, recoveredType } from '@tidemark/session-core'
import type { Session, Sessions, SessionView } from '@tidemark/session-core'
import type { Handle } from './handle.ts'
import type { AuthorizeQuestion } from './host.ts'
import { inTime } from './in-time.ts'
import { labelRaisedType } from './label-raised.ts'
import { refusal } from './refusal.ts'
import type { HandleBook } from './terms.ts'

/** Sessions that handles were let at, and that are not made yet. */
const askedMax = 10_000

/**
 * Which handle each stored session of this process was opened as. A store asks for leave to write as that handle, so
 * what the session holds has to be written while it is open.
 *
 * 1. What came of a question is known by the incarnation that it names: one that came to nothing is of no session.
 * 2. A session ends once, within `flushMsMax`, whoever asks for it and however often.
 * 3. What a session could not write when it ended is remembered for its handle, whoever ended it.
 */
export class SessionOpenings {
  /** Also after the service is gone: then there is nothing in it. */
  private sessions: Sessions | undefined
  private isJoined = false
  private readonly asked = new Map<string, Handle>()
  private readonly openers = new WeakMap<SessionView, Handle>()
  private readonly ends = new WeakMap<Session, Promise<void>>()
  private readonly lost = new WeakMap<Handle, Error>()

  constructor(
    private readonly handles: HandleBook,
    private readonly flushMsMax: number,
  ) {}

  join(sessions: Sessions): void {
    this.sessions = sessions
    this.isJoined = true
  }

  /** From now on no session is made that would begin without its label. */
  leave(): void {
    this.isJoined = false
  }

  /** Whether a session may be opened as a handle. */
  mayOpenAs(handle: Handle): boolean {
    return this.isJoined && this.handles.mayOpenAs(handle)
  }

  /** The living session with this id. */
  find(sessionId: string): Session | undefined {
    return this.sessions?.find(sessionId)
  }

  /** A handle was let at a session: it may be opened now, or it is written. */
  allowed({ operation, sessionId, childId, incarnation }: AuthorizeQuestion, handle: Handle): void {
    if (operation === 'flush') {
      const session = this.find(sessionId)
      if (session) this.openers.set(session, handle)
    }
    // A store asks again once the session is there.
    if (incarnation === undefined || this.find(childId ?? sessionId)?.incarnation === incarnation) return
    this.asked.set(incarnation, handle)
    // The oldest came to nothing: an opening takes no such time.
    for (const [oldest] of this.asked) {
      if (this.asked.size <= askedMax) break
      this.asked.delete(oldest)
    }
  }

  /** @throws SessionError `DISPOSED` (`closed`) where whoever asked for it is over: nothing of it could be written. */
  begun(session: SessionView): void {
    const { incarnation = '', kind } = session as Partial<Session>
    const handle = this.asked.get(incarnation)
    if (handle === undefined || kind !== 'stored') return
    this.asked.delete(incarnation)
    if (!this.mayOpenAs(handle))
      throw refusal('closed', `${session.id}: its handle ended while it was opened`)
    this.openers.set(session, handle)
  }

  /** Whether a session was opened in a later generation than a handle. */
  isAfter(session: SessionView, handle: Handle): boolean {
    const opener = this.openers.get(session)
    return opener !== undefined && handle.isBefore(opener)
  }

  /** Ends what was opened as a handle: written, then released. What the first failed with, if one ever did. */
  async end(handle: Handle): Promise<Error | undefined> {
    await this.endThose((opener) => opener === handle)
    return this.lost.get(handle)
  }

  /** Ends what was opened as any handle. */
  async endAll(): Promise<void> {
    await this.endThose(() => true)
  }

  /** A session has ended. What its writer could not keep was told to whoever ended it, and to nobody else. */
  disposed(session: Session): void {
    if (this.ends.has(session) || !isUnwritten(session)) return // what ends here tells more exactly
    this.lose(session, refusal('unavailable', `${session.id}: not all was written`))
  }

  /** Resolves when all that these hold is durable. */
  async flush(sessions: readonly Session[]): Promise<void> {
    await Promise.all(sessions.map((session) => this.inTime(session.id, session.flush())))
  }

  private async endThose(isMeant: (opener: Handle) => boolean): Promise<void> {
    const own = [...(this.sessions ?? [])].filter((session) => {
      const opener = this.openers.get(session)
      return opener !== undefined && isMeant(opener)
    })
    await Promise.all(own.map((session) => this.endOf(session)))
  }

  private endOf(session: Session): Promise<void> {
    const end = this.ends.get(session) ?? this.endInTime(session)
    this.ends.set(session, end)
    return end
  }

  private async endInTime(session: Session): Promise<void> {
    try {
      await this.inTime(session.id, this.endOne(session))
    } catch (error) {
      this.lose(session, error as Error)
    }
  }

  private async endOne(session: Session): Promise<void> {
    session.end()
    try {
      await session.flush()
    } finally {
      await this.sessions?.dispose(session)
    }
  }

  private lose(session: Session, error: Error): void {
    const opener = this.openers.get(session)
    if (opener && !this.lost.has(opener)) this.lost.set(opener, error)
  }

  private async inTime(id: string, work: Promise<unknown>): Promise<void> {
    await inTime(work, this.flushMsMax, () => {
      throw refusal('unavailable', `${id}: what it holds was not written in ${this.flushMsMax} ms`)
    })
  }
}

/** Written by nobody: a session starts with these, and gets its label again when it is resumed. */
const own: readonly string[] = [boundaryType, recoveredType, labelRaisedType]

/** Whether it holds anything that is not durable and that somebody appended. */
function isUnwritten({ log, durableSeq }: Session): boolean {
  return [...log.range(durableSeq + 1)].some(({ type }) => !own.includes(type))
}
