import type { AnySessionEvent } from '@tidemark/session-core'

/** An event with its JSON text, made once: what is measured, hashed and written is the same text. */
export interface EncodedEvent {
  readonly event: AnySessionEvent
  /**
   * One line without its end: `{"seq":…,"time":…,"type":…,"data":…}`, then `ignorable` and `replaces` if set.
   */
  readonly json: string
  /** UTF-8, with the line end. */
  readonly sizeBytes: number
}

/**
 * JSON text escapes every control character and every lone surrogate, so it is one line and loses nothing.
 */
export function encodeEvent(event: AnySessionEvent): EncodedEvent {
  const { seq, time, type, data, ignorable, replaces } = event
  const flags = { ...(ignorable && { ignorable }), ...(replaces && { replaces }) }
  const json = JSON.stringify({ seq, time, type, data, ...flags })
  return { event, json, sizeBytes: Buffer.byteLength(json) + 1 }
}

export function decodeEvent(json: string): AnySessionEvent {
  return JSON.parse(json) as AnySessionEvent
}

/** The lines of a batch, as they are written. */
export function linesOf(batch: readonly EncodedEvent[]): Uint8Array {
  return Buffer.from(batch.map(({ json }) => `${json}\n`).join(''))
}
