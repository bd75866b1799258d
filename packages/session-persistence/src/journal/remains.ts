import { seqsIn } from './runs.ts'

/** Where in a batch a line stands. */
export interface Place {
  /** The seq of its first event; after a hole the lowest that it can be. */
  readonly next: number
  readonly isAfterHole?: boolean
  /** The last seq of the batch. */
  readonly to: number
  /** The lowest `next` at which all of its events may be there. */
  readonly commitFrom: number
}

/**
 * Whether lines, the last of them without a line end, are what a crash can leave of one batch: its beginning, with
 * zeros where a sector was not written. What was written whole stands as it was written: so neither a second batch
 * nor damage to a line before the last one passes for a torn end.
 */
export function areRemains(lines: readonly string[], place: Place): boolean {
  const { to, commitFrom } = place
  let { next, isAfterHole = false } = place
  for (const [index, line] of lines.entries()) {
    const hole = line.indexOf('\0')
    const isCut = hole !== -1 || index === lines.length - 1
    const shown = hole === -1 ? line : line.slice(0, hole)
    const isBegun = isAfterHole
      ? agrees(shown.replace(/\d+/, ''), '{"seq":,')
      : agrees(shown, `{"seq":${next},`)
    const { from, to: last } = isCut ? begunIn(shown, next) : seqsIn(line)
    const isInOrder = isAfterHole ? from >= next : from === next
    if (!isBegun || !isInOrder || last > to) {
      // Written whole, a commit is only here because of a hole before it.
      const isInPlace = isAfterHole || (isCut && next >= commitFrom)
      const isCommit = agrees(shown, '{"commit":{') && !goesOn(line)
      return isInPlace && isCommit && withoutHoles(lines.slice(index + 1).join('\n')) === ''
    }
    next = last + 1
    isAfterHole ||= hole !== -1
  }
  return true
}

/** The first seq of a line that is cut, which of a run are the fewest that it can take. */
function begunIn(shown: string, next: number): ReturnType<typeof seqsIn> {
  const seq = Number(/\{"seq":(\d+),/.exec(shown)?.[1] ?? next)
  return { from: seq, to: seq }
}

/** Whether anything but zeros follows a commit in its line. */
function goesOn(line: string): boolean {
  return /,"sum":"[0-9a-f]{64}"\}\}./s.test(withoutHoles(line))
}

function withoutHoles(text: string): string {
  return text.replaceAll('\0', '')
}

/** Whether two texts are the same as far as both go. */
export function agrees(text: string, start: string): boolean {
  const length = Math.min(text.length, start.length)
  return text.slice(0, length) === start.slice(0, length)
}
