import type { ToolPart } from '@tidemark/session-core'
import { partsSizeBytes } from './results.ts'
import { sizeBytesOf } from './size.ts'

/** For the line between the beginning and the end. */
const lineSizeBytesMax = 160

/**
 * The beginning and the end of what a result says, with one line between them that says what was left out and where
 * it stands. No more than `sizeBytesMax` UTF-8 bytes; cut between code points. Files are left out. Pure.
 */
export function excerptOf(
  parts: readonly ToolPart[],
  resultSeq: number,
  sizeBytesMax: number,
): readonly ToolPart[] {
  const texts = parts.flatMap((part) => (part.type === 'text' ? [part.text] : []))
  const text = texts.join('\n')
  const room = Math.max(0, sizeBytesMax - lineSizeBytesMax)
  const head = beginningOf(text, Math.ceil(room / 2))
  const tail = endOf(text.slice(head.length), Math.floor(room / 2))
  const leftOut = Math.max(0, partsSizeBytes(parts) - sizeBytesOf(head) - sizeBytesOf(tail))
  const fileCount = parts.length - texts.length
  const files = fileCount === 0 ? '' : `, ${fileCount} files with them`
  const line = `[${leftOut} bytes left out here${files}: the whole result stands at seq ${resultSeq} of the log]`
  return [{ type: 'text', text: [head, line, tail].filter((each) => each !== '').join('\n') }]
}

/** As much of the beginning as takes no more bytes, whole code points only. */
function beginningOf(text: string, sizeBytesMax: number): string {
  let sizeBytes = 0
  let length = 0
  for (const character of text) {
    sizeBytes += sizeBytesOf(character)
    if (sizeBytes > sizeBytesMax) break
    length += character.length
  }
  return text.slice(0, length)
}

function endOf(text: string, sizeBytesMax: number): string {
  let sizeBytes = 0
  let from = text.length
  while (from > 0) {
    const length = isPairBefore(text, from) ? 2 : 1
    sizeBytes += sizeBytesOf(text.slice(from - length, from))
    if (sizeBytes > sizeBytesMax) break
    from -= length
  }
  return text.slice(from)
}

function isPairBefore(text: string, end: number): boolean {
  return /^[\ud800-\udbff][\udc00-\udfff]$/.test(text.slice(Math.max(0, end - 2), end))
}
