import type { AnySessionEvent } from '@tidemark/session-core'

/** An event on its way into a storage. Its text is made when it is first asked for, and once. */
export interface EncodedEvent {
  /** Does not change any more: its text may be made as late as it is written. */
  readonly event: AnySessionEvent
  /** Bytes that its line takes at most; cheap, while `sizeBytes` takes the text to be made. */
  readonly sizeBytesMax: number
  /** Exactly: UTF-8, with the line end. */
  readonly sizeBytes: number
  /**
   * One line without its end: `{"seq":…,"time":…,"type":…,"data":…}`, then `ignorable` and `replaces` if set.
   */
  readonly json: string
}

/**
 * JSON text escapes every control character and every lone surrogate, so it is one line and loses nothing.
 */
export function encodeEvent(event: AnySessionEvent): EncodedEvent {
  return new LateText(event)
}

export function decodeEvent(json: string): AnySessionEvent {
  return JSON.parse(json) as AnySessionEvent
}

/** The lines of a batch, one for each event. */
export function linesOf(batch: readonly EncodedEvent[]): Uint8Array {
  return Buffer.from(batch.map(({ json }) => `${json}\n`).join(''))
}

/** Whether its line takes more than so many bytes. Its text is made only when that is close. */
export function isLarger(encoded: EncodedEvent, sizeBytes: number): boolean {
  return encoded.sizeBytesMax > sizeBytes && encoded.sizeBytes > sizeBytes
}

/** Exactly where the text was made already, and else at most. */
export function knownSizeBytes(encoded: EncodedEvent): number {
  return encoded instanceof LateText ? encoded.knownSizeBytes : encoded.sizeBytes
}

class LateText implements EncodedEvent {
  readonly sizeBytesMax: number
  private text: string | undefined
  private textSizeBytes: number | undefined

  constructor(readonly event: AnySessionEvent) {
    const boundBytes = envelopeSizeBytesMax + boundOf(event.type, { left: 1 }) + boundOf(event.data)
    this.sizeBytesMax = boundBytes === Infinity ? this.sizeBytes : boundBytes
  }

  get json(): string {
    this.text ??= textOf(this.event)
    return this.text
  }

  get knownSizeBytes(): number {
    return this.text === undefined ? this.sizeBytesMax : this.sizeBytes
  }

  get sizeBytes(): number {
    this.textSizeBytes ??= Buffer.byteLength(this.json) + 1
    return this.textSizeBytes
  }
}

function textOf({ seq, time, type, data, ignorable, replaces }: AnySessionEvent): string {
  const flags = { ...(ignorable && { ignorable }), ...(replaces && { replaces }) }
  return JSON.stringify({ seq, time, type, data, ...flags })
}

/** A UTF-16 unit takes most as `\u0000`. */
const unitSizeBytesMax = 6
const numberSizeBytesMax = '-2.2250738585072014e-308'.length
const falseSizeBytes = 5

/** Everything but `type` and `data`: the names, both flags, both numbers and the line end. */
const envelopeSizeBytesMax =
  '{"seq":,"time":,"type":,"data":,"ignorable":true,"replaces":true}\n'.length + 2 * numberSizeBytesMax

/** Values of one payload that are looked at: of a larger one, making the text is as cheap. */
const boundValuesMax = 64

/** Bytes that a value takes at most as JSON text; Infinity where that is not cheap to tell. */
function boundOf(value: unknown, walk = { left: boundValuesMax }): number {
  walk.left -= 1
  if (walk.left < 0) return Infinity
  switch (typeof value) {
    case 'string':
      return value.length * unitSizeBytesMax + 2
    case 'number':
      return numberSizeBytesMax
    case 'boolean':
      return falseSizeBytes
    case 'object':
      return value === null ? falseSizeBytes : boundOfParts(value, walk)
    default:
      return Infinity
  }
}

/** What has a class of its own may say itself what its text is. */
function boundOfParts(value: object, walk: { left: number }): number {
  const isList = Array.isArray(value)
  if (Object.getPrototypeOf(value) !== (isList ? Array.prototype : Object.prototype)) return Infinity
  let sizeBytes = 2
  if (isList) {
    if (value.length > walk.left) return Infinity
    for (const each of value) sizeBytes += boundOf(each, walk) + 1
    return sizeBytes
  }
  for (const [key, each] of Object.entries(value))
    sizeBytes += key.length * unitSizeBytesMax + 4 + boundOf(each, walk)
  return sizeBytes
}
