import { join } from 'node:path'
import { SessionError, isSessionError } from '@tidemark/session-core'
import type { FollowTerms, Tail } from '../storage.ts'
import type { LogBatch, LogTerms, ReadTo } from './chain-reader.ts'
import { listNames } from './listing.ts'
import { readLog } from './log-reader.ts'
import { hasReason } from './port.ts'
import type { SessionFolder } from './segment-file.ts'
import { segmentsIn } from './segment-name.ts'

/** Where a follower is. */
interface Followed {
  readonly cursor: Tail
  /** The last seq of what it gave that was proven durable then. */
  readonly durableSeq: number
  /** Where to read on; without it the cursor is looked for. */
  readonly at?: ReadTo
}

/**
 * The batches of a log that come after a cursor, and those that are still to come. What was read is not read again:
 * each look lists the folder, and reads on only where something has grown.
 *
 * @throws SessionError `CORRUPT` when the log does not hold the cursor, or is damaged; `TAIL_MOVED` when somebody took
 * over and dropped what was given out before anything proved it durable; `NOT_FOUND` once the session is removed.
 */
export async function* followLog(
  folder: SessionFolder,
  { after, signal, pollMs }: FollowTerms,
): AsyncGenerator<LogBatch, void> {
  let followed: Followed = { cursor: after ?? { seq: -1, digest: '' }, durableSeq: after?.seq ?? -1 }
  let seen: string | undefined
  while (!signal?.aborted) {
    // Before it is read: what comes while it is read is seen the next time.
    const now = await signatureOf(folder)
    if (now !== seen) followed = yield* readOn(folder, followed)
    else await folder.port.pause(pollMs)
    seen = followed.at && now // a cursor that was lost is looked for at once
  }
}

async function* readOn(folder: SessionFolder, followed: Followed): AsyncGenerator<LogBatch, Followed> {
  const { at } = followed
  let { cursor, durableSeq } = followed
  const log = readLog(folder, termsOf(followed))
  try {
    for (let step = await log.next(); ; step = await log.next()) {
      if (step.done) return { cursor, durableSeq, ...(step.value && { at: step.value }) }
      const batch = step.value
      if (batch.end.tail.seq < cursor.seq || (batch.end.tail.seq === cursor.seq && at === undefined)) continue
      if (batch.isDurable) durableSeq = batch.end.tail.seq
      const isNew = batch.end.tail.seq > cursor.seq
      const { seq } = cursor
      cursor = batch.end.tail
      if (isNew) yield { ...batch, events: batch.events.filter((event) => event.seq > seq) }
    }
  } catch (error) {
    // Somebody went on elsewhere: what follows the cursor is looked for, and the cursor in any case.
    const isLost = isDropped(error, { cursor, durableSeq })
    if (at && (isLost || (isSessionError(error) && error.code === 'TAIL_MOVED')))
      return { cursor, durableSeq }
    if (!isLost || holds(error, cursor)) throw error
    const message = `${folder.id}: somebody took over, and dropped what was given out after seq ${durableSeq}`
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
  if (cursor.seq < 0) return {}
  const receipt = { seq: cursor.seq, ...(cursor.digest !== '' && { digest: cursor.digest }) }
  return { start: { kind: 'seq', seq: cursor.seq }, receipt }
}

/** Whether a log lacks the cursor only because that was never proven to be in it. */
function isDropped(error: unknown, { cursor, durableSeq }: Followed): boolean {
  return isSessionError(error) && error.code === 'CORRUPT' && cursor.seq > durableSeq
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
  return newest ? `${names} ${await sizeOf(folder, newest.name)}` : names
}

async function sizeOf({ port, path }: SessionFolder, name: string): Promise<string> {
  try {
    const { sizeBytes, identity } = await port.stat(join(path, name))
    return `${sizeBytes} ${identity}`
  } catch (error) {
    if (!hasReason(error, 'ENOENT')) throw error
    return 'gone'
  }
}
