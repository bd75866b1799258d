import { SessionError, isSessionError } from '@tidemark/session-core'
import { foldActivity, noActivity, summaryOf, type Activity, type SessionSummary } from '../summary.ts'
import { sessionIn } from './chain.ts'
import type { Imprint } from './imprint.ts'
import { findHumanTime, type KnownUpTo, type LogPlace } from './last-message.ts'
import { readToEnd, type LogEnd } from './log-reader.ts'
import { commitEndingAt, type Wanted } from './seek.ts'
import type { SessionFolder } from './segment-file.ts'
import type { SummaryLine } from './summary-line.ts'

/** Bytes at the end of a log that are read, and proven, for a summary. */
const nearEndSizeBytes = 65_536

/** How often a log is read anew that others take over while it is read. */
const readsMax = 3

/** What a log came to when it was looked at. */
export interface Seen {
  readonly summary: SessionSummary
  /** Absent where something follows the log: then nothing tells later that it is the same still. */
  readonly line?: SummaryLine
  /** Whether all of it was proven durable: what is not may be gone after a power cut. */
  readonly isDurable: boolean
}

export interface SummaryTerms {
  /** The session's folder. */
  readonly name: string
  /** Of the log, before it is read. */
  readonly imprint: Imprint | undefined
  /**
   * What an earlier look came to. It saves looking for the last message of a person from there back, and is believed
   * only where the log still holds what it was made from.
   */
  readonly findLine: () => Promise<SummaryLine | undefined>
}

/** Summarizes a log from its end. @throws SessionError what `readLog` does. */
export async function summarizeLog(
  folder: SessionFolder,
  { name, imprint, findLine }: SummaryTerms,
): Promise<Seen> {
  const { end, start, ...found } = await readEnd(folder)
  let { activity } = found
  const { links } = end.chain
  if (start !== undefined && activity.lastHumanTime === undefined && !isBeginning(start, end)) {
    const line = await findLine()
    const known = line && (await knownIn(folder, end, line))
    const lastHumanTime = await findHumanTime(folder, links, { before: start, known })
    activity = { ...activity, ...(lastHumanTime !== undefined && { lastHumanTime }) }
  }
  const header = sessionIn(end.chain, folder.id)
  const summary = summaryOf(header, activity)
  const isDurable = end.durable.seq >= end.tail.seq
  if (imprint === undefined || !isAt(imprint, end)) return { summary, isDurable }
  const epoch = links.at(-1)?.header.epoch ?? 0
  const digest = end.tail.digest
  const lastTime = activity.lastTime ?? header.createdAt
  return {
    summary,
    isDurable,
    line: { folder: name, epoch, ...imprint, digest, header, ...activity, lastTime },
  }
}

interface ReadEnd {
  readonly end: LogEnd
  readonly activity: Activity
  /** Where the first batch that was read begins. */
  readonly start: LogPlace | undefined
}

/** Reads enough of the end to hold an event: lifecycles without one may follow the last. */
async function readEnd(folder: SessionFolder): Promise<ReadEnd> {
  let wanted: Wanted = { kind: 'end', sizeBytes: nearEndSizeBytes }
  for (let reads = 1; ; reads++) {
    let start: LogPlace | undefined
    let activity = noActivity
    try {
      const end = await readToEnd(folder, { start: wanted }, (batch) => {
        start ??= { segment: batch.segment, offset: batch.start.offset }
        activity = batch.events.reduce(foldActivity, activity)
      })
      if (activity.lastSeq === end.tail.seq) return { end, activity, start }
      if (reads === readsMax) throw moving(folder)
      wanted = { kind: 'seq', seq: end.tail.seq }
    } catch (error) {
      if (!isSessionError(error) || error.code !== 'TAIL_MOVED' || reads === readsMax) throw error
    }
  }
}

function moving({ id }: SessionFolder): SessionError {
  return new SessionError('TAIL_MOVED', `${id}: others kept taking over while it was read`, { sessionId: id })
}

function isBeginning({ segment, offset }: LogPlace, { chain }: LogEnd): boolean {
  const [first] = chain.links
  return first?.name === segment && first.start.offset === offset
}

/** What a line tells of a log that goes on from where the line was made. */
async function knownIn(
  folder: SessionFolder,
  { chain }: LogEnd,
  { segment, sizeBytes: offset, digest, lastSeq, lastHumanTime }: SummaryLine,
): Promise<KnownUpTo | undefined> {
  const link = chain.links.find(({ name }) => name === segment)
  const tail = link && (await commitEndingAt(folder, link, offset))
  return tail?.digest === digest && tail.seq === lastSeq ? { segment, offset, lastHumanTime } : undefined
}

function isAt({ segment, sizeBytes }: Imprint, { segment: last, offset, torn }: LogEnd): boolean {
  return torn === undefined && segment === last && sizeBytes === offset
}
