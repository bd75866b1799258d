import { timeTold } from './clock.ts'
import type { Definitions } from './definition.ts'
import { Delivery } from './delivery.ts'
import { SessionError } from './errors.ts'
import type { AnySessionEvent, SessionHeader, SessionRecovered } from './event.ts'
import { forkHeader, newHeader, refuseHeader, type HeaderOptions } from './header.ts'
import type { Host } from './host.ts'
import type { FlushReceipt, Recorder } from './recorder.ts'
import { Replay } from './replay.ts'
import { Session, type SessionBus } from './session.ts'
import type {
  CreateOptions,
  ForkOptions,
  ReplayOptions,
  SessionsOptions,
  ViewOptions,
} from './session-options.ts'
import { settle } from './settle.ts'
import type { SessionView } from './view.ts'
import { Vocabulary } from './vocabulary.ts'

interface Living {
  readonly session: Session
  readonly recorder: Recorder | undefined
  readonly owner: Host['fiber']
  undo: () => unknown
  ending: Promise<void> | undefined
}

/**
 * The sessions of this process: `ctx.sessions`.
 *
 * 1. An id names at most one living session.
 * 2. Each `tidemark/created` is followed by one `tidemark/disposed`.
 * 3. A session ends with the plugin that created it: flushed, disposed, then its writer closed.
 */
export class Sessions {
  readonly vocabulary = new Vocabulary()
  private readonly living = new Map<string, Living>()
  /** Those that are over, while what they held is written. */
  private readonly closing = new Set<Session>()
  /** Sessions whose flush the bus is being told of: it is told once, however many ask meanwhile. */
  private readonly flushing = new Set<Session>()
  private readonly delivery: Delivery
  private readonly bus: SessionBus

  constructor(
    protected readonly ctx: Host,
    private readonly options: SessionsOptions = {},
  ) {
    const delivery = new Delivery(ctx)
    this.delivery = delivery
    this.bus = {
      refuseEndless: () => delivery.refuseEndless(),
      committed: (session, event) => delivery.tell('tidemark/event', session, event),
    }
  }

  /**
   * A session that belongs to the calling plugin. Without a recorder it is memory only.
   * @throws SessionError `EXISTS`, `INVALID_ID`, `INVALID_SEED`, `INVALID_PAYLOAD`, `UNKNOWN_TYPE`, `INVALID_EVENT`
   * (of `recovered`); nothing was created.
   */
  create(options: CreateOptions = {}): Session {
    this.refuseInactive()
    this.bus.refuseEndless()
    const header = options.header ?? this.newHeader(options)
    refuseHeader(header)
    if (this.living.has(header.id)) throw exists(header.id)
    const { seed, carry, recorder, history, incarnation, recovered, source } = options
    const { vocabulary, bus } = this
    // The host's own options come from nobody else: a caller cannot leave out the redaction.
    const session = new Session({
      ...this.options,
      header,
      seed,
      source,
      parent: header.parent && this.find(header.parent.id),
      carry,
      recorder,
      history,
      incarnation,
      recovered,
      vocabulary,
      bus,
    })
    const living: Living = {
      session,
      recorder,
      owner: this.ctx.fiber,
      undo: () => undefined,
      ending: undefined,
    }
    this.living.set(header.id, living)
    living.undo = this.ctx.effect(() => () => this.end(living), `session ${header.id}`)
    this.delivery.tell('tidemark/created', session)
    return session
  }

  /**
   * A memory-only session that inherits this one's events up to `through`. The parent does not notice.
   * @throws SessionError `INVALID_SEQ`, `EXISTS`, `INVALID_ID`.
   */
  fork(parent: Session, { id, through = parent.log.length - 1, meta }: ForkOptions = {}): Session {
    const seed = parent.seed(through)
    return this.create({
      seed,
      header: this.forkHeader(parent.header, through, { id, meta }),
      carry: parent.carried,
    })
  }

  /** The header of a session that is to be. */
  newHeader(options: HeaderOptions = {}): SessionHeader {
    return newHeader(options, timeTold(this.options.now))
  }

  /** The header of a fork of a session with this header. */
  forkHeader(parent: SessionHeader, through: number, options: HeaderOptions = {}): SessionHeader {
    return forkHeader(this.newHeader(options), parent, through)
  }

  /** A stored log as something to read. No boundary is added, nothing is bound to it. */
  view(header: SessionHeader, events: Iterable<AnySessionEvent>, options: ViewOptions = {}): SessionView {
    const replay = this.replay(header, options)
    replay.push(events)
    return replay.view
  }

  /** For storages: a stored log as something to read, given in pieces and held in bounded memory. */
  replay(header: SessionHeader, options: ReplayOptions = {}): Replay {
    return new Replay(header, this.vocabulary, options)
  }

  /** The living session with this id. */
  find(id: string): Session | undefined {
    return this.living.get(id)?.session
  }

  /** Whether a session that lives here ends with this fiber: that of the plugin which created or resumed it. */
  isOwnedBy(session: Session, fiber: Host['fiber']): boolean {
    const living = this.living.get(session.id)
    return living?.session === session && living.owner === fiber
  }

  *[Symbol.iterator](): Generator<Session> {
    for (const { session } of this.living.values()) yield session
  }

  /**
   * Resolves when everything appended before the call is durable. It asks the writer that the session was bound to,
   * and rejects when that is gone. `kind: 'memory'` says that there is none.
   */
  async flush(session: Session): Promise<FlushReceipt> {
    if (this.flushing.has(session)) return session.flush() // a listener of the flush that is under way
    this.flushing.add(session)
    try {
      const told = this.delivery.ask('tidemark/flush', session)
      const [receipt] = await Promise.all([session.flush(), told])
      return receipt
    } finally {
      this.flushing.delete(session)
    }
  }

  /** Ends a session now: flushes it, disposes it, closes its writer. Resolves when that is done. */
  async dispose(session: Session): Promise<void> {
    const living = this.living.get(session.id)
    if (living?.session !== session) return
    await living.undo()
    await living.ending
  }

  /**
   * Adds to the vocabulary until the returned function is called; call it inside an effect of the plugin.
   * When the last instance of an owner goes, its brackets that are live are settled first.
   * @throws SessionError `OWNED`, `UNKNOWN_TYPE`, `INVALID_EVENT`; nothing was defined.
   */
  define(definitions: Definitions): () => void {
    const { goingAway, remove } = this.vocabulary.add(definitions)
    let defined = true
    return () => {
      if (!defined) return
      defined = false
      const report = (error: unknown): void => this.ctx.logger.error(error)
      try {
        const going = goingAway()
        // One that is over takes no closing event: the next boundary ends what is left.
        const over = { ...going, brackets: [] }
        for (const { session, ending } of this.living.values()) settle(session, ending ? over : going, report)
        for (const session of this.closing) settle(session, over, report)
      } finally {
        remove()
      }
    }
  }

  /** For storages: tells the bus how far a session is safe. */
  tellDurable(session: Session, seq: number): void {
    this.delivery.tell('tidemark/durable', session, seq)
  }

  /** For storages: tells the bus what a recovery found, once the session exists. */
  tellRecovered(session: Session, record: SessionRecovered): void {
    this.delivery.tell('tidemark/recovered', session, record)
  }

  /** Ends all that is left. */
  async disposeAll(): Promise<void> {
    await Promise.all([...this].map((session) => this.dispose(session)))
  }

  private refuseInactive(): void {
    try {
      this.ctx.fiber.assertActive()
    } catch (cause) {
      throw new SessionError('DISPOSED', 'the plugin that asks for a session is unloaded', { cause })
    }
  }

  private end(living: Living): Promise<void> {
    living.ending ??= this.endOnce(living)
    return living.ending
  }

  private async endOnce({ session, recorder }: Living): Promise<void> {
    session.end()
    try {
      await session.flush()
    } catch (error) {
      this.ctx.logger.error(error)
    }
    this.living.delete(session.id)
    this.closing.add(session)
    this.delivery.tell('tidemark/disposed', session)
    try {
      await recorder?.close()
    } catch (error) {
      this.ctx.logger.error(error)
    } finally {
      this.closing.delete(session)
    }
  }
}

function exists(id: string): SessionError {
  return new SessionError('EXISTS', `${id}: a session with this id is living in this process`, {
    sessionId: id,
  })
}
