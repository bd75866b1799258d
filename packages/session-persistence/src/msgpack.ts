import { decoder, encoder } from './msgpack-codec.ts'
import { large, portable, whole, type Fields, type Walk } from './portable.ts'

/** How deep a value is taken apart: what lies deeper is encoded at once. */
const splitDepthMax = 6

/** Values that are encoded at once, about: a millisecond's work. */
const roomMax = 4_096

/**
 * Data of ours as MessagePack, and what is `undefined` in it left out. In pieces, so that whoever encodes much can let
 * others work in between.
 */
export function encodePieces(value: unknown): Generator<Uint8Array, void> {
  return piecesOf(value, undefined)
}

/**
 * The state of a projection, so that it comes back equal.
 * @throws SessionError `UNFIT_STATE` with the projection's name and the path, where it would not.
 */
export function encodeState(name: string, state: unknown): Generator<Uint8Array, void> {
  return piecesOf(state, name)
}

/** The value of MessagePack that somebody else wrote; `undefined` when it is none of ours. */
export function parseMessagePack(bytes: Uint8Array): unknown {
  try {
    return decoder.decode(bytes)
  } catch (error) {
    if (!(error instanceof Error)) throw error
    return undefined // a shortcut that cannot be read is none
  }
}

/** @throws Error when it is no MessagePack of ours. */
export function decode(bytes: Uint8Array): unknown {
  return decoder.decode(bytes)
}

function* piecesOf(value: unknown, state: string | undefined): Generator<Uint8Array, void> {
  const run = new Run()
  yield* new Pieces({ path: [], state, room: 0 }, run).of(value)
  yield* run.take()
}

/** Takes apart what is too much at once; the rest waits in the run until that is enough. */
class Pieces {
  constructor(
    private readonly walk: Walk,
    private readonly run: Run,
  ) {}

  *of(value: unknown): Generator<Uint8Array, void> {
    const { walk, run } = this
    if (walk.state === undefined && value instanceof Uint8Array) {
      yield* run.take()
      yield bytesHeader(value.length)
      yield value // much larger than all else: it is not copied
      return
    }
    walk.room = roomMax
    const isDeep = walk.path.length >= splitDepthMax
    const found = isDeep ? whole(walk, () => portable(value, walk)) : portable(value, walk)
    if (found !== large) {
      run.add(found, roomMax - walk.room)
      if (run.isFull) yield* run.take()
      return
    }
    yield* run.take()
    yield* Array.isArray(value) ? this.ofList(value) : this.ofRecord(value as Fields)
  }

  private *ofList(list: readonly unknown[]): Generator<Uint8Array, void> {
    yield header(list.length, arrayMarks)
    for (let index = 0; index < list.length; index++) yield* this.within(index, list[index])
  }

  private *ofRecord(record: Fields): Generator<Uint8Array, void> {
    const isState = this.walk.state !== undefined
    const keys = Object.keys(record).filter((key) => isState || record[key] !== undefined)
    yield header(keys.length, mapMarks)
    for (const key of keys) {
      this.run.add(key, 1)
      yield* this.within(key, record[key])
    }
  }

  private *within(key: PropertyKey, value: unknown): Generator<Uint8Array, void> {
    this.walk.path.push(key)
    yield* this.of(value)
    this.walk.path.pop()
  }
}

/** Values that follow each other, whatever they are in: encoded together, since each piece costs as much as many values. */
class Run {
  private values: unknown[] = []
  private room = roomMax

  get isFull(): boolean {
    return this.room <= 0
  }

  add(value: unknown, count: number): void {
    this.values.push(value)
    this.room -= count
  }

  *take(): Generator<Uint8Array, void> {
    const { values } = this
    if (values.length === 0) return
    this.values = []
    this.room = roomMax
    // As a list, without what says that it is one.
    yield encoder.encode(values).subarray(header(values.length, arrayMarks).length)
  }
}

interface Marks {
  readonly short: number
  readonly two: number
  readonly four: number
}

const arrayMarks: Marks = { short: 0x90, two: 0xdc, four: 0xdd }
const mapMarks: Marks = { short: 0x80, two: 0xde, four: 0xdf }

function header(length: number, { short, two, four }: Marks): Uint8Array {
  if (length < 16) return Buffer.of(short | length)
  if (length < 65_536) return Buffer.of(two, length >> 8, length & 0xff)
  const bytes = Buffer.alloc(5, four)
  bytes.writeUInt32BE(length, 1)
  return bytes
}

function bytesHeader(length: number): Uint8Array {
  if (length < 256) return Buffer.of(0xc4, length)
  if (length < 65_536) return Buffer.of(0xc5, length >> 8, length & 0xff)
  const bytes = Buffer.alloc(5, 0xc6)
  bytes.writeUInt32BE(length, 1)
  return bytes
}
