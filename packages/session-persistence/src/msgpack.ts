import { Decoder, Encoder, ExtData, ExtensionCodec } from '@msgpack/msgpack'

/** An object with keys that MessagePack's maps do not give back, as a list of pairs. */
const pairsType = 1
/** A text that is no UTF-8, since it holds half of a surrogate pair: its UTF-16 units, little-endian. */
const unitsType = 2

/** Deeper than any payload, with what states put around it. */
const depthMax = 512

/** How deep a value is taken apart: what lies deeper is encoded at once. */
const splitDepthMax = 6

const codec = new ExtensionCodec()
codec.register({ type: pairsType, encode: () => null, decode: (bytes) => objectOf(bytes) })
codec.register({
  type: unitsType,
  encode: () => null,
  decode: (bytes) => Buffer.from(bytes).toString('utf16le'),
})

const encoder = new Encoder({ extensionCodec: codec, maxDepth: depthMax, ignoreUndefined: true })
const decoder = new Decoder({ extensionCodec: codec })

/**
 * JSON data, and what is `undefined` in it left out, as MessagePack. In pieces, so that whoever encodes much can let
 * others work in between.
 */
export function* encodePieces(value: unknown): Generator<Uint8Array, void> {
  yield* pieces(value, 0)
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

function* pieces(value: unknown, depth: number): Generator<Uint8Array, void> {
  if (depth < splitDepthMax && Array.isArray(value)) {
    yield header(value.length, arrayMarks)
    for (const item of value) yield* pieces(item, depth + 1)
  } else if (depth < splitDepthMax && isRecord(value) && hasPlainKeys(value)) {
    const entries = Object.entries(value).filter(([, inner]) => inner !== undefined)
    yield header(entries.length, mapMarks)
    for (const [key, inner] of entries) {
      yield encoder.encode(key)
      yield* pieces(inner, depth + 1)
    }
  } else yield encoder.encode(portable(value))
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
function portable(value: unknown): unknown {
  if (typeof value === 'string')
    return value.isWellFormed() ? value : new ExtData(unitsType, Buffer.from(value, 'utf16le'))
  if (Array.isArray(value)) return changed(value, value.map(portable))
  if (!isRecord(value)) return value
  const keys = Object.keys(value)
  if (!hasPlainKeys(value)) {
    const pairs = keys.map((key) => [portable(key), portable(value[key])])
    return new ExtData(pairsType, encoder.encode(pairs))
  }
  const inner = keys.map((key) => portable(value[key]))
  if (inner.every((each, index) => each === value[keys[index] as string])) return value
  return Object.fromEntries(keys.map((key, index) => [key, inner[index]]))
}

function changed(before: readonly unknown[], after: readonly unknown[]): readonly unknown[] {
  return after.every((each, index) => each === before[index]) ? before : after
}

function objectOf(bytes: Uint8Array): unknown {
  const pairs = decoder.decode(bytes) as (readonly [string, unknown])[]
  const object = {}
  for (const [key, value] of pairs)
    Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true })
  return object
}

function hasPlainKeys(value: object): boolean {
  return Object.keys(value).every((key) => key !== '__proto__' && key.isWellFormed())
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return (
    typeof value === 'object' && value !== null && !ArrayBuffer.isView(value) && !(value instanceof ExtData)
  )
}
