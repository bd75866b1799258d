import { SessionError, assert } from './errors.ts'
import type { SessionEvent } from './event.ts'
import { Uses, type TypeUse } from './uses.ts'

/** Events a chunk. A fork shares all full chunks of its parent and copies at most one list of references. */
const chunkLength = 1_024

type Chunk = readonly SessionEvent[]

/**
 * Parts of a living log. All chunks but the first begin at a multiple of their length, the first at `base`. A full
 * tail becomes a chunk and is replaced, and what is let go leaves a new list of chunks, so a view may keep pointing
 * at what it was taken of.
 */
interface Store {
  readonly base: number
  readonly chunks: readonly Chunk[]
  readonly tail: Chunk
  readonly uses: Uses
}

/** What anyone may do with a log: read it. */
export interface SessionLog extends Iterable<SessionEvent> {
  /** The first seq in memory. Older events are stored: `history` reads them. */
  readonly base: number
  /** One more than the last seq. */
  readonly length: number
  readonly last: SessionEvent | undefined
  /** Each type in the log with its first use, the first of those that ask most of a reader. */
  readonly types: ReadonlyMap<string, TypeUse>
  /** @throws SessionError `INVALID_SEQ` outside the log, `NOT_LOADED` below `base`. */
  at(seq: number): SessionEvent
  /** The events in memory from `from` up to and including `through`. @throws SessionError `NOT_LOADED` below `base`. */
  range(from: number, through?: number): IterableIterator<SessionEvent>
}

/** A log as it stood at one moment: it shares the log's chunks, and never changes. */
export class LogView implements SessionLog {
  constructor(
    private readonly store: Store,
    readonly length: number,
  ) {}

  get base(): number {
    return this.store.base
  }

  get last(): SessionEvent | undefined {
    return this.length === this.base ? undefined : this.at(this.length - 1)
  }

  get types(): ReadonlyMap<string, TypeUse> {
    return this.uses().types
  }

  at(seq: number): SessionEvent {
    refuseOutside(seq, this.length)
    if (seq < this.base) throw notLoaded(seq, this.base)
    const event = eventIn(this.store, seq)
    assert(event?.seq === seq, 'at(seq).seq === seq')
    return event
  }

  *range(from: number, through = this.length - 1): IterableIterator<SessionEvent> {
    const first = Math.max(0, from)
    if (first < this.base && first <= through) throw notLoaded(first, this.base)
    for (let seq = first; seq <= through && seq < this.length; seq++) yield this.at(seq)
  }

  /** Iterates over what is in memory. */
  [Symbol.iterator](): IterableIterator<SessionEvent> {
    return this.range(this.base)
  }

  /** The same log up to and including `through`. */
  upTo(through: number): LogView {
    assert(through < this.length && through >= this.base - 1, 'a view only shortens')
    return new LogView(this.store, through + 1)
  }

  uses(): Uses {
    return this.store.uses.before(this.length)
  }

  /** The full chunks, and a copy of the rest, for a log that goes on from here. */
  parts(): { base: number; chunks: Chunk[]; tail: SessionEvent[] } {
    const { base, chunks, tail } = this.store
    const full = chunkOf(this.length, base)
    const rest = (chunks[full] ?? tail).slice(0, this.length - startOf(full, base))
    return { base, chunks: chunks.slice(0, full), tail: rest }
  }
}

/** What a log whose beginning is not in memory goes on from. */
export interface LogStart {
  readonly base: number
  readonly types: Iterable<TypeUse>
}

/**
 * The append-only log of one session.
 *
 * 1. `at(seq).seq === seq`: no gaps, never shorter.
 * 2. Every event in it is deeply frozen.
 * 3. Full chunks are frozen and shared; a view taken earlier never sees what came later, and keeps what is let go.
 */
export class EventLog implements SessionLog {
  private first: number
  private chunks: Chunk[]
  private tail: SessionEvent[]
  private readonly uses: Uses

  constructor(from?: LogView | LogStart) {
    if (from instanceof LogView) {
      const { base, chunks, tail } = from.parts()
      this.first = base
      this.chunks = chunks
      this.tail = tail
      this.uses = from.uses()
      return
    }
    this.first = from?.base ?? 0
    this.chunks = []
    this.tail = []
    this.uses = new Uses(from?.types)
  }

  get base(): number {
    return this.first
  }

  get length(): number {
    return startOf(this.chunks.length, this.first) + this.tail.length
  }

  get last(): SessionEvent | undefined {
    return this.tail.at(-1) ?? this.chunks.at(-1)?.at(-1)
  }

  get types(): ReadonlyMap<string, TypeUse> {
    return this.uses.types
  }

  push(event: SessionEvent): void {
    assert(event.seq === this.length, 'seq is contiguous')
    assert(Object.isFrozen(event), 'every event is frozen')
    this.tail.push(event)
    this.uses.add(event)
    if ((event.seq + 1) % chunkLength !== 0) return
    this.chunks.push(Object.freeze(this.tail))
    this.tail = []
  }

  /** Lets go of what is before `seq`. */
  release(seq: number): void {
    const base = Math.min(seq, this.length)
    if (base <= this.first) return
    const whole = chunkOf(base, this.first)
    const gone = base - startOf(whole, this.first)
    const [cut, ...others] = this.chunks.slice(whole)
    if (cut === undefined) this.tail = this.tail.slice(gone)
    this.chunks = cut === undefined ? [] : [Object.freeze(cut.slice(gone)), ...others]
    this.first = base
  }

  at(seq: number): SessionEvent {
    return this.view().at(seq)
  }

  range(from: number, through?: number): IterableIterator<SessionEvent> {
    return this.view().range(from, through)
  }

  [Symbol.iterator](): IterableIterator<SessionEvent> {
    return this.view()[Symbol.iterator]()
  }

  view(): LogView {
    const { first: base, chunks, tail, uses } = this
    return new LogView({ base, chunks, tail, uses }, this.length)
  }
}

/** The place of a seq's chunk among those from `base` on. */
function chunkOf(seq: number, base: number): number {
  return Math.floor(seq / chunkLength) - Math.floor(base / chunkLength)
}

function startOf(chunk: number, base: number): number {
  return chunk === 0 ? base : (Math.floor(base / chunkLength) + chunk) * chunkLength
}

function eventIn({ base, chunks, tail }: Store, seq: number): SessionEvent | undefined {
  const index = chunkOf(seq, base)
  return (chunks[index] ?? tail)[seq - startOf(index, base)]
}

/** A living log for everybody but its session: to read, and never to write. */
export function readOnly(log: EventLog): SessionLog {
  return Object.freeze({
    get base() {
      return log.base
    },
    get length() {
      return log.length
    },
    get last() {
      return log.last
    },
    get types() {
      return new Map(log.types)
    },
    at: (seq: number) => log.at(seq),
    range: (from: number, through?: number) => log.range(from, through),
    [Symbol.iterator]: () => log[Symbol.iterator](),
  })
}

/** An event that is stored and not in memory. */
export function notLoaded(seq: number, base: number): SessionError {
  const message = `the event at ${seq} is not in memory, which begins at ${base}; history() reads it`
  return new SessionError('NOT_LOADED', message, { seq, base })
}

/** @throws SessionError `INVALID_SEQ` unless it is the seq of an event in a log of this length. */
export function refuseOutside(seq: unknown, length: number): void {
  if (Number.isInteger(seq) && Number(seq) >= 0 && Number(seq) < length) return
  const shown = typeof seq === 'number' ? String(seq) : typeof seq
  throw new SessionError('INVALID_SEQ', `no event at ${shown}: the log holds ${length} events`, {
    intactThrough: length - 1,
  })
}
