import { boundaryType, needsBoundary, recoveredType } from './boundary.ts'
import { decideAppend } from './admission.ts'
import { timeTold } from './clock.ts'
import type { Bracket } from './definition.ts'
import { SessionError } from './errors.ts'
import type {
  AnySessionEvent,
  SessionEvent,
  SessionEventMap,
  SessionEventType,
  SessionHeader,
  SessionRecovered,
} from './event.ts'
import { Folds } from './folds.ts'
import { deepFreeze, type JsonValue } from './json.ts'
import { EventLog } from './log.ts'
import type { FlushReceipt, Recorder } from './recorder.ts'
import { refuseRecovered } from './recovered.ts'
import type { Redact } from './redact.ts'
import { freeze, readSeed, SessionSeed } from './seed.ts'
import { SessionView } from './view.ts'
import type { Vocabulary } from './vocabulary.ts'

const MARK = Symbol.for('tidemark.session')

export interface SessionInit {
  readonly header: SessionHeader
  readonly vocabulary: Vocabulary
  /** History to start from. Given, even empty, it makes the session a seeded one, and that is marked in its log. */
  readonly seed?: Iterable<AnySessionEvent> | SessionSeed | undefined
  /** What recoveries found that the seed does not tell yet: each is an event of its own, before the boundary. */
  readonly recovered?: readonly SessionRecovered[] | undefined
  readonly recorder?: Recorder | undefined
  readonly carry?: readonly string[] | undefined
  readonly redact?: Redact | undefined
  /** Milliseconds since the epoch. */
  readonly now?: (() => number) | undefined
  /** The id of this lifecycle. The session id stays the same over restarts, this one does not. */
  readonly incarnation?: string | undefined
  readonly bus?: SessionBus | undefined
}

/** Where a session tells what was appended to it. Not the boundary and what leads to it: nobody listens yet. */
export interface SessionBus {
  /** Throws when listeners append without end. */
  refuseEndless(): void
  committed(session: Session, event: SessionEvent): void
}

export interface AppendOptions {
  /** For a type that nobody defined: readers may carry it without understanding it. */
  readonly ignorable?: true
  /** Milliseconds since the epoch, for what happened earlier. Default: now. */
  readonly time?: number
}

/**
 * One lifecycle of a session.
 *
 * 1. A seeded session has a boundary at or before its first own event, and never two in a row. What recoveries found
 *    stands right before it.
 * 2. Nothing in the log changes: `append` either adds one event at the end or throws and adds none.
 * 3. The event that `append` returns is the one in the log.
 */
export class Session extends SessionView {
  readonly incarnation: string
  readonly carried: readonly string[]
  private ended = false
  private readonly init: SessionInit

  /** @throws SessionError `INVALID_SEED`, `UNKNOWN_TYPE`, `INVALID_PAYLOAD`, `INVALID_EVENT`; nothing was created. */
  constructor(init: SessionInit) {
    const { header, vocabulary, seed, recovered = [], carry = [] } = init
    const rules = { vocabulary, carry: new Set(carry), forkedAt: header.forkedAt }
    const { log, folds } = seed === undefined ? { log: new EventLog() } : readSeed(seed, rules)
    refuseRecovered(recovered, seed === undefined ? undefined : log.length)
    deepFreeze(header as unknown as JsonValue)
    super(header, log, new Folds(header, log, { vocabulary, seed: folds }))
    this.init = init
    this.carried = Object.freeze([...carry])
    this.incarnation = init.incarnation ?? globalThis.crypto.randomUUID()
    Object.defineProperty(this, MARK, { value: true })
    for (const record of recovered) this.commit(this.compose(recoveredType, record))
    if (needsBoundary(seed !== undefined, log.last?.type)) this.commit(this.compose(boundaryType, {}))
  }

  /** The last seq on stable storage, -1 when there is none. */
  get durableSeq(): number {
    return this.init.recorder?.durableSeq ?? -1
  }

  /** `memory`: nothing of this session will survive the process. */
  get kind(): FlushReceipt['kind'] {
    return this.init.recorder === undefined ? 'memory' : 'stored'
  }

  /**
   * Records one event, synchronously. Takes ownership of `data` and freezes it.
   *
   * @throws SessionError `INVALID_PAYLOAD`, `INVALID_EVENT`, `UNKNOWN_TYPE`, `RESERVED`, `ALREADY_OPEN`, `NOT_OPEN`,
   * `DISPOSED`, and what the writer refuses with. Then nothing was recorded and `data` is as it was.
   */
  append<T extends SessionEventType>(
    type: T,
    data: SessionEventMap[T],
    options?: AppendOptions,
  ): SessionEvent<T>
  append(
    type: string,
    data: JsonValue,
    options: AppendOptions & { readonly ignorable: true },
  ): AnySessionEvent
  append(type: string, data: unknown, options: AppendOptions = {}): AnySessionEvent {
    this.refuseEnded()
    const { vocabulary, redact } = this.init
    const admitted = decideAppend(
      { type, data, options },
      { vocabulary, redact, folds: this.folds, seq: this.log.length },
    )
    const event = this.compose(type, admitted.data, { ...options, ...admitted.flags })
    admitted.refuseMisplaced(event)
    this.record(event)
    return event
  }

  /**
   * Ends a live bracket that its owner cannot close any more, with a `bracket/abandoned`.
   * @throws SessionError `NOT_OPEN` when it is not live.
   */
  abandon(bracket: Bracket, openSeq: number): void {
    const live = this.open(bracket).some(({ seq, status }) => seq === openSeq && status === 'live')
    if (!live)
      throw new SessionError('NOT_OPEN', `${this.id}: no ${bracket.name} is live at seq ${openSeq}`, {
        seq: openSeq,
      })
    this.record(this.compose('bracket/abandoned', { bracket: bracket.name, openSeq }))
  }

  /**
   * This log up to and including `through`, to seed a fork with. Nothing is copied.
   * @throws SessionError `INVALID_SEQ` unless `through` is a seq of this log.
   */
  seed(through: number = this.log.length - 1): SessionSeed {
    if (through !== -1 || this.log.length > 0) this.log.at(through)
    return new SessionSeed(this.events.view().upTo(through), this.folds.upTo(through), this.header.forkedAt)
  }

  /** Resolves when everything appended before the call is durable, or says that this session is memory only. */
  async flush(): Promise<FlushReceipt> {
    await this.init.recorder?.flush()
    const digest = this.init.recorder?.digest
    return { kind: this.kind, durableSeq: this.durableSeq, ...(digest !== undefined && { digest }) }
  }

  /** No append is accepted from now on. Idempotent. */
  end(): void {
    this.ended = true
  }

  private compose(
    type: string,
    data: unknown,
    options: AppendOptions & { replaces?: true } = {},
  ): SessionEvent {
    const { ignorable, replaces } = options
    const flags = { ...(ignorable && { ignorable }), ...(replaces && { replaces }) }
    const { time = timeTold(this.init.now) } = options
    return { seq: this.log.length, time: time + 0, type, data, ...flags } as unknown as SessionEvent
  }

  private record(event: SessionEvent): void {
    this.refuseEnded()
    this.init.bus?.refuseEndless()
    if (event.seq !== this.events.length) throw outrun(event)
    this.commit(event)
    this.init.bus?.committed(this, event)
  }

  private refuseEnded(): void {
    if (this.ended)
      throw new SessionError('DISPOSED', `${this.id}: this session is over`, { sessionId: this.id })
  }

  private commit(event: SessionEvent): void {
    this.init.recorder?.admit(event)
    this.events.push(freeze(event))
  }
}

/** What decides about an event is a plugin's code in part, and that appended to the same session meanwhile. */
function outrun({ type, seq }: SessionEvent): SessionError {
  return new SessionError(
    'INVALID_EVENT',
    `${type}: the log grew while this was decided; nothing was recorded`,
    {
      type,
      seq,
    },
  )
}

/** True for a session of any copy of this package: what listeners look for on the bus. */
export function isSession(value: unknown): value is Session {
  return typeof value === 'object' && value !== null && MARK in value
}
