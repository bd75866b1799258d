import type { AnySessionEvent } from '@tidemark/session-core'
import { unpackLine } from './runs.ts'
import type { Spanning } from './rising.ts'

/** A line of events that a damaged segment holds. */
export interface SalvageLine extends Spanning {
  readonly bytes: Buffer
  readonly events: readonly AnySessionEvent[]
  /** Events that may have stood before it, since anything was last known: what they took cannot be read. */
  readonly missedMax: number
}

export function lineOf(bytes: Buffer, events: readonly AnySessionEvent[], missedMax: number): SalvageLine {
  const first = events[0]?.seq ?? NaN
  return { bytes, events, first, last: first + events.length - 1, missedMax }
}

/** The events of a line; none where it is damaged: of a run with a piece missing nobody can tell which seqs are left. */
export function eventsIn(value: unknown): readonly AnySessionEvent[] | undefined {
  const events = unpackLine(value)
  const isLike = events?.every(
    (event) =>
      Number.isSafeInteger(event.seq) &&
      typeof event.time === 'number' &&
      typeof event.type === 'string' &&
      'data' in event,
  )
  return isLike ? events : undefined
}

interface Range {
  readonly from: number
  readonly to: number
}

/** With the seqs that their places give them; `undefined` unless a batch has just as many events. */
export function renumbered(
  lines: readonly SalvageLine[],
  { from, to }: Range,
): readonly SalvageLine[] | undefined {
  if (countOf(lines) !== to - from + 1) return undefined
  let next = from
  return lines.map((line) => {
    const first = next
    next += line.events.length
    return line.first === first ? line : withSeq(line, first)
  })
}

/** In a batch of which every line can be read, an event's seq is that of its place, or it is wrong. */
export function withoutMisplaced(lines: readonly SalvageLine[], batch: Range): readonly SalvageLine[] {
  const placed = renumbered(lines, batch)
  return placed ? lines.filter((line, index) => line === placed[index]) : lines
}

/** Whether as many events may be missing between a line and the one before it as its seq says. */
export function isExplained(
  line: SalvageLine,
  {
    before,
    through,
    lines,
  }: { before: SalvageLine | undefined; through: number; lines: readonly SalvageLine[] },
): boolean {
  const missing = line.first - (before?.last ?? through) - 1
  const unread = line.missedMax - (before?.missedMax ?? 0)
  const between = lines.slice(before ? lines.indexOf(before) + 1 : 0, lines.indexOf(line))
  return missing <= unread + countOf(between)
}

function countOf(lines: readonly SalvageLine[]): number {
  return lines.reduce((count, { events }) => count + events.length, 0)
}

function withSeq({ bytes, events, missedMax }: SalvageLine, first: number): SalvageLine {
  const head = Buffer.from(`{"seq":${first}`)
  const moved = events.map((event, index) => ({ ...event, seq: first + index }))
  return lineOf(Buffer.concat([head, bytes.subarray(bytes.indexOf(','))]), moved, missedMax)
}
