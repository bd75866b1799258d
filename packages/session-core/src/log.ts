import { SessionError, assert } from './errors.ts'
import type { SessionEvent } from './event.ts'

/** Events a chunk. A fork shares all full chunks of its parent and copies at most one list of references. */
const chunkLength = 1_024

type Chunk = readonly SessionEvent[]

/** Append-only parts of a living log. A full tail becomes a chunk and is replaced, so a view may keep pointing at it. */
interface Store {
  readonly chunks: readonly Chunk[]
  readonly tail: Chunk
  readonly uses: ReadonlyMap<string, readonly SessionEvent[]>
}

/** What anyone may do with a log: read it. */
export interface SessionLog extends Iterable<SessionEvent> {
  /** The first seq in memory. */
  readonly base: number
  /** One more than the last seq. */
  readonly length: number
  readonly last: SessionEvent | undefined
  /** Each type in the log with the event that first used it, the first of those that ask most of a reader. */
  readonly types: ReadonlyMap<string, SessionEvent>
  /** @throws SessionError `INVALID_SEQ` outside the log, `NOT_LOADED` below `base`. */
  at(seq: number): SessionEvent
  /** The events from `from` up to and including `through`. */
  range(from: number, through?: number): IterableIterator<SessionEvent>
}

/** A log as it stood at one moment: it shares the log's chunks, and never changes. */
export class LogView implements SessionLog {
  readonly base = 0

  constructor(
    private readonly store: Store,
    readonly length: number,
  ) {}

  get last(): SessionEvent | undefined {
    return this.length === 0 ? undefined : this.at(this.length - 1)
  }

  get types(): ReadonlyMap<string, SessionEvent> {
    return new Map([...this.uses()].map(([type, uses]) => [type, uses.at(-1) as SessionEvent]))
  }

  at(seq: number): SessionEvent {
    if (!Number.isInteger(seq) || seq < 0 || seq >= this.length) throw outside(seq, this.length)
    const index = Math.floor(seq / chunkLength)
    const event = (this.store.chunks[index] ?? this.store.tail)[seq % chunkLength]
    assert(event?.seq === seq, 'at(seq).seq === seq')
    return event
  }

  *range(from: number, through = this.length - 1): IterableIterator<SessionEvent> {
    for (let seq = Math.max(0, from); seq <= through && seq < this.length; seq++) yield this.at(seq)
  }

  [Symbol.iterator](): IterableIterator<SessionEvent> {
    return this.range(0)
  }

  /** The same log up to and including `through`. */
  upTo(through: number): LogView {
    assert(through < this.length, 'a view only shortens')
    return new LogView(this.store, through + 1)
  }

  /** Of each type the first use, and each first that asks more of a reader than those before it. */
  uses(): Map<string, readonly SessionEvent[]> {
    const within = ({ seq }: SessionEvent): boolean => seq < this.length
    const uses = [...this.store.uses].map(([type, all]) => [type, all.filter(within)] as const)
    return new Map(uses.filter(([, some]) => some.length > 0))
  }

  /** The full chunks, and a copy of the rest, for a log that goes on from here. */
  parts(): { chunks: Chunk[]; tail: SessionEvent[] } {
    const full = Math.floor(this.length / chunkLength)
    const rest = (this.store.chunks[full] ?? this.store.tail).slice(0, this.length % chunkLength)
    return { chunks: this.store.chunks.slice(0, full), tail: rest }
  }
}

/**
 * The append-only log of one session.
 *
 * 1. `at(seq).seq === seq`: no gaps, never shorter.
 * 2. Every event in it is deeply frozen.
 * 3. Full chunks are frozen and shared; a view taken earlier never sees what came later.
 */
export class EventLog implements SessionLog {
  readonly base = 0
  private readonly chunks: Chunk[]
  private tail: SessionEvent[]
  private readonly uses: Map<string, readonly SessionEvent[]>

  constructor(seed?: LogView) {
    const { chunks, tail } = seed?.parts() ?? { chunks: [], tail: [] }
    this.chunks = chunks
    this.tail = tail
    this.uses = seed?.uses() ?? new Map<string, readonly SessionEvent[]>()
  }

  get length(): number {
    return this.chunks.length * chunkLength + this.tail.length
  }

  get last(): SessionEvent | undefined {
    return this.tail.at(-1) ?? this.chunks.at(-1)?.at(-1)
  }

  get types(): ReadonlyMap<string, SessionEvent> {
    return this.view().types
  }

  push(event: SessionEvent): void {
    assert(event.seq === this.length, 'seq is contiguous')
    assert(Object.isFrozen(event), 'every event is frozen')
    this.tail.push(event)
    const uses = this.uses.get(event.type) ?? []
    if (demand(event) > demand(uses.at(-1))) this.uses.set(event.type, [...uses, event])
    if (this.tail.length < chunkLength) return
    this.chunks.push(Object.freeze(this.tail))
    this.tail = []
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
    return new LogView({ chunks: this.chunks, tail: this.tail, uses: this.uses }, this.length)
  }
}

/** A living log for everybody but its session: to read, and never to write. */
export function readOnly(log: EventLog): SessionLog {
  return Object.freeze({
    base: log.base,
    get length() {
      return log.length
    },
    get last() {
      return log.last
    },
    get types() {
      return log.types
    },
    at: (seq: number) => log.at(seq),
    range: (from: number, through?: number) => log.range(from, through),
    [Symbol.iterator]: () => log[Symbol.iterator](),
  })
}

/** What an event asks of a reader that does not know its type: nothing, to be told to carry it, or to give up. */
function demand(event: SessionEvent | undefined): number {
  if (event === undefined) return 0
  if (event.replaces) return 3
  return event.ignorable ? 1 : 2
}

function outside(seq: unknown, length: number): SessionError {
  const shown = typeof seq === 'number' ? String(seq) : typeof seq
  return new SessionError('INVALID_SEQ', `no event at ${shown}: the log holds ${length} events`, {
    intactThrough: length - 1,
  })
}
