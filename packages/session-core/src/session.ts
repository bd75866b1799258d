import { boundaryType, needsBoundary, recoveredType } from './boundary.ts'
import { decideAppend } from './admission.ts'
import { beginningsOf, isUnbegun, type SessionSource } from './beginning.ts'
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
import type { HistorySource } from './history.ts'
import { EventLog } from './log.ts'
import type { FlushReceipt, Recorder } from './recorder.ts'
import { refuseRecovered } from './recovered.ts'
import type { Redact } from './redact.ts'
import { SessionSeed, freeze, readSeed, type Inherited, type Seed } from './seed.ts'
import { SessionView } from './view.ts'
import type { Vocabulary } from './vocabulary.ts'

const MARK = Symbol.for('tidemark.session')

export interface SessionInit {
  readonly header: SessionHeader
  readonly vocabulary: Vocabulary
  /** History to start from. Given, even empty, it makes the session a seeded one, and that is marked in its log. */
  readonly seed?: Seed | undefined
  /** Where it comes from, as far as the seed does not know: a session that was read in part only. */
  readonly source?: SessionSource
  /** The living session that the header names as the parent. */
  readonly parent?: SessionView | undefined
  /** What recoveries found that the seed does not tell yet: each is an event of its own, before the boundary. */
  readonly recovered?: readonly SessionRecovered[] | undefined
  readonly recorder?: Recorder | undefined
  /** Where the events are that the session does not hold, when the seed does not hold them or it lets go of them. */
  readonly history?: HistorySource | undefined
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
  /** Without what it was made of: a session does not keep its parent in memory. */
  private readonly init: Omit<SessionInit, 'seed' | 'source' | 'parent'>

  /** @throws SessionError `INVALID_SEED`, `UNKNOWN_TYPE`, `INVALID_PAYLOAD`, `INVALID_EVENT`; nothing was created. */
  constructor(init: SessionInit) {
    const { seed, source, parent, ...kept } = init
    const { header, vocabulary, recovered = [], carry = [], history } = kept
    const rules = { vocabulary, carry: new Set(carry), forkedAt: header.forkedAt }
    const {
      log,
      folds: shared,
      restored,
    }: Inherited = seed === undefined ? { log: new EventLog() } : readSeed(seed, rules)
    refuseRecovered(recovered, seed === undefined ? undefined : log.length)
    deepFreeze(header as unknown as JsonValue)
    const folds = new Folds(header, log, { vocabulary, seed: shared, restored })
    super(header, log, { folds, past: history && { source: history, rules } })
    this.init = kept
    this.carried = Object.freeze([...carry])
    this.incarnation = kept.incarnation ?? globalThis.crypto.randomUUID()
    Object.defineProperty(this, MARK, { value: true })
    const beginnings = beginningsOf(this, source ?? sourceOf(this, seed, parent), vocabulary)
    for (const record of recovered) this.commit(this.compose(recoveredType, record))
    if (needsBoundary(seed !== undefined, this.endsAtBoundary())) this.commit(this.compose(boundaryType, {}))
    for (const { type, data, ...options } of beginnings) this.commit(this.admitted(type, data, options))
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
    this.refuseEnded(type)
    const event = this.admitted(type, data, options)
    this.record(event)
    return event
  }

  /** The event that something becomes, if it may be recorded. */
  private admitted(type: string, data: unknown, options: AppendOptions): SessionEvent {
    const { vocabulary, redact } = this.init
    const admitted = decideAppend(
      { type, data, options },
      { vocabulary, redact, folds: this.folds, seq: this.events.length },
    )
    const { data: kept, flags } = admitted
    const event = this.compose(
      type,
      kept,
      options.time === undefined ? flags : { ...flags, time: options.time },
    )
    admitted.refuseMisplaced(event)
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
   * Lets go of events below `seq` that are durable and can be read again with `history`; the newest stay. What the
   * projections that are defined need of them is folded first.
   */
  release(seq: number): void {
    if (this.init.history === undefined) return
    this.folds.advanceAll()
    this.events.release(Math.min(seq, this.durableSeq + 1))
  }

  /** Resolves when everything appended before the call is durable, or says that this session is memory only. */
  async flush(): Promise<FlushReceipt> {
    await this.init.recorder?.flush()
    const digest = this.init.recorder?.digest
    return { kind: this.kind, durableSeq: this.durableSeq, ...(digest !== undefined && { digest }) }
  }

  /** No append is accepted from now on, but of what `accompanies` the rest while that is written. Idempotent. */
  end(): void {
    this.ended = true
  }

  /** The last event may stand in a snapshot only. */
  private endsAtBoundary(): boolean {
    const { last, length } = this.events
    return last ? last.type === boundaryType : length > 0 && this.boundarySeq === length - 1
  }

  private compose(
    type: string,
    data: unknown,
    options: AppendOptions & { replaces?: true } = {},
  ): SessionEvent {
    const { ignorable, replaces } = options
    const { length: seq } = this.events
    const time = (options.time ?? timeTold(this.init.now)) + 0
    // One literal for each shape: copied flags cost as much as the rest of an append. No type has both.
    if (ignorable) return { seq, time, type, data, ignorable } as unknown as SessionEvent
    if (replaces) return { seq, time, type, data, replaces } as unknown as SessionEvent
    return { seq, time, type, data } as unknown as SessionEvent
  }

  private record(event: SessionEvent): void {
    this.refuseEnded(event.type)
    this.init.bus?.refuseEndless()
    if (event.seq !== this.events.length) throw outrun(event)
    this.commit(event)
    this.init.bus?.committed(this, event)
  }

  private refuseEnded(type: string): void {
    if (this.ended && !(this.kind === 'stored' && accompanies(this.init.vocabulary, type)))
      throw new SessionError('DISPOSED', `${this.id}: this session is over`, { sessionId: this.id })
  }

  private commit(event: SessionEvent): void {
    this.init.recorder?.admit(event, accompanies(this.init.vocabulary, event.type))
    this.events.push(freeze(event))
  }
}

/** A seed knows what it was cut from. A list of events does not: then the parent that the header names is it. */
function sourceOf(heir: SessionView, seed: Seed | undefined, parent: SessionView | undefined): SessionSource {
  if (seed instanceof SessionSeed && seed.origin.source !== undefined) return seed.origin.source
  return isUnbegun(heir) ? (parent ?? 'unreadable') : undefined
}

function accompanies(vocabulary: Vocabulary, type: string): boolean {
  return vocabulary.event(type)?.accompanies ?? false
}

/** What decides about an event is a plugin's code in part, and that appended to the same session meanwhile. */
function outrun({ type, seq }: SessionEvent): SessionError {
  const message = `${type}: the log grew while this was decided; nothing was recorded`
  return new SessionError('INVALID_EVENT', message, { type, seq })
}

/** True for a session of any copy of this package: what listeners look for on the bus. */
export function isSession(value: unknown): value is Session {
  return typeof value === 'object' && value !== null && MARK in value
}
