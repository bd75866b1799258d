import { quotedSizeBytes } from './quote.ts'

/** A text without its middle. */
export interface Cut {
  readonly head: string
  /** UTF-8 bytes of the text as it was. */
  readonly leftOutSizeBytes: number
  readonly tail: string
}

/** The text as it is, or without its middle where it would take more than so many bytes as `quote` writes it. */
export function cut(text: string, sizeBytesMax: number): string | Cut {
  const headEnd = endOfHead(text, sizeBytesMax)
  if (headEnd === text.length) return text
  const halfEnd = endOfHead(text, Math.floor(sizeBytesMax / 2))
  const tailStart = startOfTail(text, Math.ceil(sizeBytesMax / 2))
  return {
    head: text.slice(0, halfEnd),
    leftOutSizeBytes: Buffer.byteLength(text.slice(halfEnd, tailStart)),
    tail: text.slice(tailStart),
  }
}

/** Both go by whole characters: no surrogate pair is split. */
function endOfHead(text: string, sizeBytesMax: number): number {
  let left = sizeBytesMax
  let end = 0
  while (end < text.length) {
    const codePoint = text.codePointAt(end) ?? 0
    left -= quotedSizeBytes(codePoint)
    if (left < 0) break
    end += codePoint > 0xffff ? 2 : 1
  }
  return end
}

function startOfTail(text: string, sizeBytesMax: number): number {
  let left = sizeBytesMax
  let start = text.length
  while (start > 0) {
    const pair = start > 1 ? (text.codePointAt(start - 2) ?? 0) : 0
    const isPair = pair > 0xffff
    left -= quotedSizeBytes(isPair ? pair : text.charCodeAt(start - 1))
    if (left < 0) break
    start -= isPair ? 2 : 1
  }
  return start
}
