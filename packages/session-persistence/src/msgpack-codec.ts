import { Decoder, Encoder, ExtData, ExtensionCodec } from '@msgpack/msgpack'

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
export const depthMax = 512

const codec = new ExtensionCodec()
const decoded = new Map<number, (bytes: Uint8Array) => unknown>([
  [pairsType, (bytes) => objectOf(bytes, {})],
  [unitsType, (bytes) => Buffer.from(bytes).toString('utf16le')],
  [oddType, (bytes) => oddValues[bytes[0] ?? 0]],
  [bareType, (bytes) => objectOf(bytes, Object.create(null) as object)],
])
for (const [type, decode] of decoded) codec.register({ type, encode: () => null, decode })

export const encoder = new Encoder({ extensionCodec: codec, maxDepth: depthMax + 4, ignoreUndefined: true })
export const decoder = new Decoder({ extensionCodec: codec })

/** A text that is no UTF-8. */
export function unitsOf(text: string): ExtData {
  return new ExtData(unitsType, Buffer.from(text, 'utf16le'))
}

/** `undefined`, or -0. */
export function odd(value: unknown): ExtData {
  return new ExtData(oddType, Buffer.of(oddValues.findIndex((each) => Object.is(each, value))))
}

/** An object as pairs of what stands for its keys and values. */
export function pairsIn(pairs: readonly unknown[], prototype: object | null): ExtData {
  return new ExtData(prototype === null ? bareType : pairsType, encoder.encode(pairs))
}

function objectOf(bytes: Uint8Array, object: object): unknown {
  const pairs = decoder.decode(bytes) as (readonly [string, unknown])[]
  for (const [key, value] of pairs)
    Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true })
  return object
}
