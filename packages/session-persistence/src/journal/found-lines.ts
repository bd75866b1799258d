import { parseJson } from '../json-text.ts'

/** Something that may have been a line. */
export interface FoundLine {
  /** With its end, which may have been lost. */
  readonly bytes: Buffer
  /** Its JSON value; `undefined` when it has none. */
  readonly value: unknown
}

/**
 * No valid line holds a NUL, and in none a line's beginning follows a line's end: what stands like that was more than
 * one line. One byte between them may be what an end of line was changed to.
 */
const seam = /(?<=\})[^}]?(?=\{"(?:seq|commit|segment)":)/su

/** What a line of a damaged file holds: itself, or the lines that it was, where what parted them is gone. */
export function linesWithin(bytes: Buffer): readonly FoundLine[] {
  const text = bytes.subarray(0, -1).toString()
  const value = parseJson(text)
  if (value !== undefined) return [{ bytes, value }]
  return text
    .split(/\0+/)
    .filter((piece) => piece !== '')
    .flatMap(unglued)
}

/** All of them are lines, or it is a line that is damaged: it may quote others. */
function unglued(text: string): readonly FoundLine[] {
  const pieces = text.split(seam).map(foundIn)
  return pieces.every(({ value }) => value !== undefined) ? pieces : [foundIn(text)]
}

function foundIn(text: string): FoundLine {
  return { bytes: Buffer.from(`${text}\n`), value: parseJson(text) }
}

/** Lines with their ends. One that is longer than any can be is given up to its next end. */
export async function* linesIn(
  pieces: AsyncIterable<Buffer>,
  sizeBytesMax: number,
): AsyncGenerator<Buffer, void> {
  let rest: Buffer[] = []
  let restSizeBytes = 0
  for await (const piece of pieces) {
    let from = 0
    for (let lf = piece.indexOf(10); lf !== -1; lf = piece.indexOf(10, from)) {
      yield Buffer.concat([...rest, piece.subarray(from, lf + 1)])
      rest = []
      restSizeBytes = 0
      from = lf + 1
    }
    if (restSizeBytes > sizeBytesMax) continue
    rest.push(piece.subarray(from))
    restSizeBytes += piece.length - from
  }
  if (restSizeBytes > 0) yield Buffer.concat([...rest, Buffer.from('\n')])
}
