import { Decoder, Encoder, ExtData, ExtensionCodec } from '@msgpack/msgpack'
import { SessionError } from '@tidemark/session-core'

/** An object with keys that MessagePack's maps do not give back, as a list of pairs. */
const pairsType = 1
/** A text that is no UTF-8, since it holds half of a surrogate pair: its UTF-16 units, little-endian. */
const unitsType = 2
/** What MessagePack has no value for: one byte, its place in `oddValues`. */
const oddType = 3
/** An object without a prototype, as a list of pairs. */
const bareType = 4

const oddValues: readonly unknown[] = [undefined, -0]

/** Lists and objects inside each other: more than in any payload, with what states put around it. */
const depthMax = 512

/** Steps of a path that are told. */
const stepsMax = 16

/** How deep a value is taken apart: what lies deeper is encoded at once. */
const splitDepthMax = 6

const codec = new ExtensionCodec()
const decoded = new Map<number, (bytes: Uint8Array) => unknown>([
  [pairsType, (bytes) => objectOf(bytes, {})],
  [unitsType, (bytes) => Buffer.from(bytes).toString('utf16le')],
  [oddType, (bytes) => oddValues[bytes[0] ?? 0]],
  [bareType, (bytes) => objectOf(bytes, Object.create(null) as object)],
])
for (const [type, decode] of decoded) codec.register({ type, encode: () => null, decode })

const encoder = new Encoder({ extensionCodec: codec, maxDepth: depthMax + 4, ignoreUndefined: true })
const decoder = new Decoder({ extensionCodec: codec })

/** Where in a value the walk is. */
interface Walk {
  readonly path: PropertyKey[]
  /** What must come back as it is: a state. What is put around it may hold bytes, and leaves `undefined` out. */
  readonly state: string | undefined
}

/**
 * Data of ours as MessagePack, and what is `undefined` in it left out. In pieces, so that whoever encodes much can let
 * others work in between.
 */
export function encodePieces(value: unknown): Generator<Uint8Array, void> {
  return pieces(value, { path: [], state: undefined })
}

/**
 * The state of a projection, so that it comes back equal.
 * @throws SessionError `UNFIT_STATE` with the projection's name and the path, where it would not.
 */
export function encodeState(name: string, state: unknown): Generator<Uint8Array, void> {
  return pieces(state, { path: [], state: name })
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

function* pieces(value: unknown, walk: Walk): Generator<Uint8Array, void> {
  const { path, state } = walk
  if (path.length < splitDepthMax && Array.isArray(value)) {
    refuseOddList(value, walk)
    yield header(value.length, arrayMarks)
    for (let index = 0; index < value.length; index++) {
      path.push(index)
      yield* pieces(value[index], walk)
      path.pop()
    }
  } else if (path.length < splitDepthMax && isRecord(value) && isPlain(value)) {
    refuseHidden(value, walk)
    const keys = Object.keys(value).filter((key) => state !== undefined || value[key] !== undefined)
    yield header(keys.length, mapMarks)
    for (const key of keys) {
      yield encoder.encode(key)
      path.push(key)
      yield* pieces(value[key], walk)
      path.pop()
    }
  } else yield encoder.encode(portable(value, walk))
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

/** The same value, or one in which extensions stand for what MessagePack would not give back. */
function portable(value: unknown, walk: Walk): unknown {
  switch (typeof value) {
    case 'string':
      return value.isWellFormed() ? value : new ExtData(unitsType, Buffer.from(value, 'utf16le'))
    case 'number':
      return Object.is(value, -0) ? odd(value) : value
    case 'boolean':
      return value
    case 'undefined':
      return odd(value)
    case 'object':
      if (value === null) return value
      break
    default:
      throw unfit(`of type ${typeof value}`, walk)
  }
  if (walk.path.length >= depthMax) throw unfit(`deeper than ${depthMax} levels, or holds itself`, walk)
  if (Array.isArray(value)) {
    refuseOddList(value, walk)
    return changed(
      value,
      value.map((each, index) => inner(index, each, walk)),
    )
  }
  if (!isRecord(value)) {
    if (walk.state === undefined) return value
    throw unfit('binary data', walk)
  }
  return portableRecord(value, walk)
}

function portableRecord(value: Fields, walk: Walk): unknown {
  refuseHidden(value, walk)
  const keys = Object.keys(value)
  if (!isPlain(value)) {
    const prototype: unknown = Object.getPrototypeOf(value)
    if (prototype !== Object.prototype && prototype !== null) throw unfit('an object of a class', walk)
    const pairs = keys.map((key) => [portable(key, walk), inner(key, value[key], walk)])
    return new ExtData(prototype === null ? bareType : pairsType, encoder.encode(pairs))
  }
  let copy: Record<string, unknown> | undefined
  for (const key of keys) {
    const found = inner(key, value[key], walk)
    if (found !== value[key]) (copy ??= { ...value })[key] = found
  }
  return copy ?? value
}

function inner(key: PropertyKey, value: unknown, walk: Walk): unknown {
  walk.path.push(key)
  const found = portable(value, walk)
  walk.path.pop()
  return found
}

function odd(value: unknown): ExtData {
  return new ExtData(oddType, Buffer.of(oddValues.findIndex((each) => Object.is(each, value))))
}

function changed(before: readonly unknown[], after: readonly unknown[]): readonly unknown[] {
  return after.every((each, index) => each === before[index]) ? before : after
}

function objectOf(bytes: Uint8Array, object: object): unknown {
  const pairs = decoder.decode(bytes) as (readonly [string, unknown])[]
  for (const [key, value] of pairs)
    Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true })
  return object
}

type Fields = Readonly<Record<string, unknown>>

/** A map that MessagePack gives back. */
function isPlain(value: Fields): boolean {
  const isOdd = (key: string): boolean => key === '__proto__' || !key.isWellFormed()
  return Object.getPrototypeOf(value) === Object.prototype && !Object.keys(value).some(isOdd)
}

function isRecord(value: unknown): value is Fields {
  return (
    typeof value === 'object' && value !== null && !ArrayBuffer.isView(value) && !(value instanceof ExtData)
  )
}

function refuseOddList(value: readonly unknown[], walk: Walk): void {
  if (Object.getPrototypeOf(value) !== Array.prototype) throw unfit('a list of a class', walk)
  // Its items, and `length`.
  if (Reflect.ownKeys(value).length !== value.length + 1) throw unfit('a list with holes or names', walk)
}

function refuseHidden(value: Fields, walk: Walk): void {
  if (walk.state === undefined) return
  const names = Object.getOwnPropertyNames(value)
  const isHidden =
    names.length !== Object.keys(value).length || Object.getOwnPropertySymbols(value).length > 0
  if (isHidden) throw unfit('an object with hidden properties', walk)
  for (const name of names)
    if (Object.getOwnPropertyDescriptor(value, name)?.get) throw unfit('an object with an accessor', walk)
}

/** Keys may be what users wrote, and are shown where they look like the names of fields. */
function unfit(reason: string, { path, state }: Walk): SessionError {
  const steps = path.map((key) => {
    if (typeof key === 'number') return `[${key}]`
    return /^[a-z][A-Za-z]{0,23}$/.test(String(key)) ? `.${String(key)}` : '.(key)'
  })
  const where = `state${steps.slice(0, stepsMax).join('')}`
  const message = `projection ${state ?? ''}: ${where} is ${reason}; snapshots are kept without it`
  return new SessionError('UNFIT_STATE', message, { name: state, path: where })
}
