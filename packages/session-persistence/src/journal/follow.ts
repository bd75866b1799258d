import { join } from 'node:path'
import { SessionError, isSessionError } from '@tidemark/session-core'
import { isCorrupt } from '../refused-read.ts'
import { receiptOf } from '../kept-receipt.ts'
import type { FollowTerms, Tail } from '../storage.ts'
import { findChain, type Chain } from './chain.ts'
import type { LogBatch, LogTerms, ReadTo } from './chain-reader.ts'
import { listNames } from './listing.ts'
import { readLog } from './log-reader.ts'
import { hasReason } from './port.ts'
import { isMissing, type SessionFolder } from './segment-file.ts'
import { segmentsIn, type SegmentName } from './segment-name.ts'
import { findHeaderIn } from './segment-start.ts'

/** Where a follower is. */
interface Followed {
  readonly cursor: Tail
  /** The last seq of what it gave that was proven durable then. */
  readonly durableSeq: number
  /** The chain as it was found last. */
  readonly chain?: Chain
  /** Where to read on; without it the cursor is looked for. */
  readonly at?: ReadTo
}

/**
 * The batches of a log that come after a cursor, and those that are still to come. What was read is not read again:
 * each look lists the folder, and reads on only where something has grown.
 *
 * @throws SessionError `CORRUPT` when the log does not hold the cursor, or is damaged; `TAIL_MOVED` when it does not
 * hold any more what was given out before anything proved it durable, as after a takeover; `NOT_FOUND` once the session is removed.
 */
export async function* followLog(
  folder: SessionFolder,
  { after, signal, pollMs }: FollowTerms,
): AsyncGenerator<LogBatch, void> {
  let followed: Followed = {
    cursor: after ?? { seq: -1, digest: '' },
    durableSeq: after?.seq ?? -1,
  }
  let seen: string | undefined
  while (!signal?.aborted) {
    // Before it is read: what comes while it is read is seen the next time.
    const now = await signatureOf(folder)
    if (now !== seen) followed = yield* readOn(folder, followed)
    else await folder.port.pause(pollMs, signal)
    seen = followed.at && now // a cursor that was lost is looked for at once
  }
}

async function* readOn(folder: SessionFolder, followed: Followed): AsyncGenerator<LogBatch, Followed> {
  const { at } = followed
  let { cursor, durableSeq, chain } = followed
  const log = readLog(folder, termsOf(followed))
  try {
    for (let step = await log.next(); ; step = await log.next()) {
      if (step.done) {
        const at = step.value
        chain = at?.chain ?? chain
        return { cursor, durableSeq, ...(at && { at }), ...(chain && { chain }) }
      }
      for (const batch of step.value) {
        const { seq } = cursor
        const { tail } = batch.end
        if (tail.seq < seq || (tail.seq === seq && at === undefined)) continue
        if (batch.isDurable) durableSeq = tail.seq
        cursor = tail
        if (tail.seq > seq) yield { ...batch, events: batch.events.filter((event) => event.seq > seq) }
      }
    }
  } catch (error) {
    // Somebody went on elsewhere: what follows the cursor is looked for, and the cursor in any case.
    const isLost = isDropped(error, { cursor, durableSeq })
    if (at && (isLost || (isSessionError(error) && error.code === 'TAIL_MOVED')))
      return { cursor, durableSeq, ...(chain && { chain }) }
    if (!isLost || holds(error, cursor)) throw error
    const now = await findChain(folder)
    if (chain && !beginsAs(now, chain)) throw error
    const isTaken = chain !== undefined && now.epoch > chain.epoch
    const why = isTaken ? 'somebody took over, and dropped' : 'the log does not hold any more'
    const what = `what was given out after seq ${durableSeq}, which nothing had proven durable`
    const message = `${folder.id}: ${why} ${what}`
    throw new SessionError('TAIL_MOVED', message, {
      sessionId: folder.id,
      intactThrough: durableSeq,
      cause: error,
    })
  } finally {
    await log.return(undefined)
  }
}

function termsOf({ cursor, at }: Followed): LogTerms {
  if (at) return { from: at }
  const receipt = receiptOf(cursor)
  if (cursor.seq < 0) return { receipt }
  return { start: { kind: 'seq', seq: cursor.seq }, receipt }
}

/** Whether a log lacks the cursor only because that was never proven to be in it. */
function isDropped(error: unknown, { cursor, durableSeq }: Pick<Followed, 'cursor' | 'durableSeq'>): boolean {
  return isCorrupt(error) && cursor.seq > durableSeq
}

/** Another log may bear the id by now. */
function beginsAs(one: Chain, other: Chain): boolean {
  return one.links[0]?.start.tail.digest === other.links[0]?.start.tail.digest
}

/** Whether a log is whole up to the cursor: it was looked for by its digest, and the damage comes after it. */
function holds(error: unknown, { seq }: Tail): boolean {
  return isSessionError(error) && (error.details.intactThrough ?? -1) >= seq
}

/** Changes whenever a log has grown, shrunk, or was replaced. */
async function signatureOf(folder: SessionFolder): Promise<string> {
  const segments = segmentsIn(await listNames(folder))
  const [newest] = segments
  const names = segments.map(({ name }) => name).join('/')
  return newest ? `${names} ${await contentOf(folder, newest)}` : names
}

/** The number of a file is used again once it is gone: its header is its own. */
async function contentOf(folder: SessionFolder, newest: SegmentName): Promise<string> {
  try {
    const { sizeBytes, identity } = await folder.port.stat(join(folder.path, newest.name))
    const found = await findHeaderIn(folder, newest)
    return `${sizeBytes} ${identity} ${found?.sum}`
  } catch (error) {
    if (!hasReason(error, 'ENOENT') && !isMissing(error)) throw error
    return 'gone'
  }
}
