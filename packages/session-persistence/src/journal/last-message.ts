import type { AnySessionEvent } from '@tidemark/session-core'
import { parseJson } from '../json-text.ts'
import { foldActivity, noActivity } from '../summary.ts'
import type { Link } from './chain.ts'
import type { PortFile } from './port.ts'
import { openSegment, readSpan, type SessionFolder } from './segment-file.ts'
import { batchSizeBytesMax } from './size.ts'

/** Bytes that are looked through at once. */
const pieceSizeBytes = 1_048_576

/** Before its type, an event's line has its seq and its time, and no more. */
const envelope = /\n\{"seq":\d+,"time":[-+.\deE]+$/
const envelopeSizeBytesMax = 96
const needle = ',"type":"user/message","data":'

/** A position in a log. */
export interface LogPlace {
  readonly segment: string
  readonly offset: number
}

/** What is known of a log up to some position. */
export interface KnownUpTo extends LogPlace {
  readonly lastHumanTime: number | undefined
}

/**
 * The time of the last message of a person before a position, back to where it is known already. The message is found
 * by the bytes that its line must begin with: inside an event's text they cannot stand, since JSON escapes quotes and
 * line ends. What is between is neither parsed nor proven, so this costs what reading the bytes does.
 */
export async function findHumanTime(
  folder: SessionFolder,
  links: readonly Link[],
  { before, known }: { before: LogPlace; known: KnownUpTo | undefined },
): Promise<number | undefined> {
  const indexOf = (place: LogPlace): number => links.findIndex(({ name }) => name === place.segment)
  const knownIndex = known ? indexOf(known) : -1
  for (let index = indexOf(before); index >= Math.max(0, knownIndex); index--) {
    const link = links[index] as Link
    const from = index === knownIndex ? (known?.offset ?? 0) : link.start.offset
    const to = link.name === before.segment ? before.offset : link.endBytes
    const time = await lastHumanTimeIn(folder, link.name, { from, to })
    if (time !== undefined) return time
  }
  return known?.lastHumanTime
}

interface Span {
  readonly from: number
  readonly to: number
}

async function lastHumanTimeIn(
  folder: SessionFolder,
  segment: string,
  { from, to }: Span,
): Promise<number | undefined> {
  if (from >= to) return undefined
  const { file } = await openSegment(folder, segment)
  try {
    for (let end = to; end > from; end -= pieceSizeBytes) {
      const time = await lastHumanTimeAt(file, { from: Math.max(from, end - pieceSizeBytes), to: end }, to)
      if (time !== undefined) return time
    }
    return undefined
  } finally {
    await file.close()
  }
}

/** Among the messages whose type stands in a span. */
async function lastHumanTimeAt(
  file: PortFile,
  { from, to }: Span,
  endBytes: number,
): Promise<number | undefined> {
  const start = Math.max(0, from - envelopeSizeBytesMax)
  const bytes = await readSpan(file, start, Math.min(endBytes, to + needle.length))
  for (let at = bytes.lastIndexOf(needle); at >= from - start && at >= 0;) {
    const front = envelope.exec(bytes.toString('latin1', Math.max(0, at - envelopeSizeBytesMax), at))
    const time = front && (await humanTimeOf(file, start + at - front[0].length + 1, endBytes))
    if (time !== null && time !== undefined) return time
    at = at === 0 ? -1 : bytes.lastIndexOf(needle, at - 1)
  }
  return undefined
}

/** Of the event whose line begins at an offset; `undefined` when it is no message of a person. */
async function humanTimeOf(file: PortFile, offset: number, endBytes: number): Promise<number | undefined> {
  const line = await readLine(file, offset, endBytes)
  const event = line === undefined ? undefined : parseJson(line)
  return event === undefined ? undefined : foldActivity(noActivity, event as AnySessionEvent).lastHumanTime
}

async function readLine(file: PortFile, offset: number, endBytes: number): Promise<string | undefined> {
  const end = Math.min(endBytes, offset + batchSizeBytesMax)
  for (let sizeBytes = 4_096; ; sizeBytes *= 16) {
    const bytes = await readSpan(file, offset, Math.min(end, offset + sizeBytes))
    const lf = bytes.indexOf(10)
    if (lf !== -1) return bytes.toString('utf8', 0, lf)
    if (offset + sizeBytes >= end) return undefined
  }
}
