import { SessionError, type Session, type Sessions } from '@tidemark/session-core'
import { noSnapshot } from './last-snapshot.ts'
import { thisProcess } from './process.ts'
import { SessionWindow, type WindowOptions, type WindowTerms } from './session-window.ts'
import type { Lease, SnapshotShelf, Tail } from './storage.ts'
import { UnfitStates } from './unfit-states.ts'
import { WriteBehind, type WriteBehindOptions } from './write-behind.ts'

export interface OpenSessionsOptions extends Omit<
  WriteBehindOptions,
  'onDurable' | 'onWritten' | 'onFailed' | 'onClosed' | 'permit'
> {
  readonly sessions: Sessions
  readonly window: WindowTerms
  /** Where snapshots go; a storage need not have one. */
  readonly shelf: SnapshotShelf | undefined
  readonly report: (error: unknown) => void
}

interface BindTerms {
  /** `now`: a fork's is written in any case. */
  readonly boundary?: 'rides' | 'now'
  /** What was read of the log, asked for once the session is there. */
  readonly origin?: () => Origin
  readonly permit?: WriteBehindOptions['permit']
  /** Asked once the session is there, before anybody has it. */
  readonly confirm?: () => Promise<void>
  /** Of what was made for the session, where it fails before anybody has it. */
  readonly undo?: (lease: Lease) => Promise<void>
}

export type Origin = Pick<WindowOptions, 'snapshot' | 'retained'>

/**
 * The stored sessions that are open in this process, through one persistence.
 *
 * 1. An id is opened by one operation at a time.
 * 2. A lease belongs to a living session, or is released.
 * 3. After `close` nothing is open, and nothing opens any more.
 */
export class OpenSessions {
  private readonly writers = new Map<Session, WriteBehind>()
  private readonly opening = new Map<string, Promise<unknown>>()
  private readonly underWay = new Set<Promise<unknown>>()
  private readonly closing = new AbortController()
  private readonly unfit: UnfitStates

  constructor(private readonly options: OpenSessionsOptions) {
    this.unfit = new UnfitStates(options.report)
  }

  /** Aborted once closing has begun. */
  get closed(): AbortSignal {
    return this.closing.signal
  }

  /** Runs an operation that `close` waits for. @throws SessionError `DISPOSED` once that began. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    this.refuseClosing()
    const running = work()
    this.underWay.add(running)
    try {
      return await running
    } finally {
      this.underWay.delete(running)
    }
  }

  /**
   * Keeps an id to one operation; a later one waits for it, since whoever asked for the first may be gone by now.
   * @throws SessionError `LOCKED` or `EXISTS`, as asked, when the session lives here.
   */
  async reserve<T>(id: string, inUse: 'LOCKED' | 'EXISTS', work: () => Promise<T>): Promise<T> {
    for (let other = this.opening.get(id); other; other = this.opening.get(id))
      await Promise.allSettled([other])
    if (this.options.sessions.find(id)) {
      throw new SessionError(inUse, `${id}: a session with this id lives in this process`, {
        sessionId: id,
        ...(inUse === 'LOCKED' && { holder: thisProcess() }),
      })
    }
    const opening = work()
    this.opening.set(id, opening)
    try {
      return await opening
    } finally {
      this.opening.delete(id)
    }
  }

  /** Whether a session is stored through here, and its writer is not closed. */
  holds(session: Session): boolean {
    return this.writers.has(session)
  }

  /** Where the log of a session that is stored through here ended; `undefined` for others. */
  tailsOf(session: Session): readonly Tail[] | undefined {
    return this.writers.get(session)?.tails
  }

  /**
   * Makes a session of a lease. Whatever fails, the session is ended and the lease released; what was made for it is
   * undone, and a failure of that is reported: it can still be resumed then.
   */
  async bind(
    lease: Lease,
    make: (recorder: WriteBehind) => Session | Promise<Session>,
    { boundary = 'rides', origin = () => ({ snapshot: noSnapshot }), permit, confirm, undo }: BindTerms = {},
  ): Promise<Session> {
    let session: Session | undefined
    let window: SessionWindow | undefined
    const recorder = new WriteBehind(lease, {
      ...this.options,
      permit,
      onDurable: (seq, sizeBytes) => {
        window?.grown(seq, sizeBytes)
        if (session) this.options.sessions.tellDurable(session, seq)
      },
      onWritten: async () => window?.close(),
      onFailed: this.options.report,
      onClosed: () => session && this.writers.delete(session),
    })
    try {
      this.refuseClosing()
      session = await make(recorder)
      this.writers.set(session, recorder)
      await confirm?.()
      window = this.windowOf(session, { writer: recorder, lease, ...origin() })
      if (boundary === 'now') await recorder.writeAll()
      return session
    } catch (error) {
      if (session) await this.reported(this.options.sessions.dispose(session))
      await this.reported(recorder.close())
      if (undo) await this.reported(undo(lease))
      throw error
    }
  }

  private windowOf(
    session: Session,
    bound: Origin & Pick<WindowOptions, 'writer' | 'lease'>,
  ): SessionWindow | undefined {
    const { shelf, window: terms, report } = this.options
    const { unfit } = this
    return shelf && new SessionWindow({ session, shelf, terms, unfit, report, ...bound })
  }

  /** Ends what is open, also sessions of plugins that will live on. */
  async close(): Promise<void> {
    this.closing.abort()
    await Promise.allSettled(this.underWay)
    await Promise.all(
      [...this.writers].map(async ([session, recorder]) => {
        await this.reported(this.options.sessions.dispose(session))
        await this.reported(recorder.close())
      }),
    )
  }

  private refuseClosing(): void {
    if (this.closing.signal.aborted) throw new SessionError('DISPOSED', 'this persistence is closed')
  }

  /** On the way out nothing may stop the rest; what fails is reported. */
  private async reported(work: Promise<void>): Promise<void> {
    try {
      await work
    } catch (error) {
      this.options.report(error)
    }
  }
}
