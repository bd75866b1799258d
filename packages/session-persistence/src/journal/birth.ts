import { join } from 'node:path'
import { SessionError, type SessionHeader } from '@tidemark/session-core'
import { RecentBatches, refuseBrokenSeed, tooLarge } from '../acceptance.ts'
import { chainDigest } from '../digest.ts'
import { linesOf, type EncodedEvent } from '../encoded-event.ts'
import type { Claim } from '../storage.ts'
import { begin, newLease, type ClaimTerms } from './claim.ts'
import { sealCommit } from './commit.ts'
import { folderName, passingPrefixes } from './folder-name.ts'
import { journalCapabilities, type JournalLease } from './lease.ts'
import { cleanUp, closeAfterFailure, createSegment, writeAll, type OwnSegment } from './own-segment.ts'
import { isSystemFailure } from './port.ts'
import { createFolder, exists } from './private-file.ts'
import type { SessionFolder } from './segment-file.ts'
import { segmentName } from './segment-name.ts'
import type { Store } from './store.ts'

/** A session that is to be, and the batches that it starts with. */
export interface Birth {
  readonly session: SessionHeader
  readonly batches: AsyncIterable<readonly EncodedEvent[]>
}

/**
 * Builds a session's folder under a temporary name, makes it durable, and gives it its name. So a session is
 * there with everything that it starts with, or it is not there.
 *
 * @throws SessionError `EXISTS`.
 */
export async function bearSession(store: Store, birth: Birth, terms: ClaimTerms): Promise<JournalLease> {
  const { port, sessionsPath } = store
  const { id } = birth.session
  const path = join(sessionsPath, folderName(id))
  if (await exists(port, path)) throw alreadyThere(id)
  const building = { port, id, path: join(sessionsPath, `${passingPrefixes.building}${port.random(8)}`) }
  await createFolder(port, building.path)
  let own: OwnSegment | undefined
  try {
    own = await createSegment(building, segmentName(1))
    const begun = await write(own, birth, terms.claim)
    await port.syncFolder(building.path)
    await rename(building, path)
    await port.syncFolder(sessionsPath)
    const session = birth.session
    return newLease(
      { own: { ...own, folder: { port, id, path } }, session, recent: new RecentBatches(), ...begun },
      terms,
    )
  } catch (error) {
    if (own) await closeAfterFailure(own.file)
    await discard(building)
    throw error
  }
}

async function write(own: OwnSegment, { session, batches }: Birth, claim: Claim): ReturnType<typeof begin> {
  const { port, id } = own.folder
  const { epoch } = own.name
  // Nothing was synced when these lines are written, so none of them says that anything is durable.
  const durable = -1
  const { salt, ...begun } = await begin(own, { session, claim, durable })
  let { tail, offset } = begun
  for await (const batch of batches) {
    const from = tail.seq + 1
    refuseBrokenSeed(id, batch, from)
    const lines = linesOf(batch)
    tail = { seq: tail.seq + batch.length, digest: chainDigest(tail.digest, [lines]) }
    const commit = { from, to: tail.seq, epoch, batchId: port.random(8), durable, digest: tail.digest }
    const bytes = Buffer.concat([lines, sealCommit(commit, salt)])
    await writeAll(own.file, bytes, offset)
    offset += bytes.length
  }
  await own.file.sync()
  return { salt, tail, offset }
}

async function rename({ port, id, path: from }: SessionFolder, to: string): Promise<void> {
  try {
    await port.rename(from, to)
  } catch (error) {
    if (isSystemFailure(error) && (await exists(port, to))) throw alreadyThere(id)
    throw error
  }
}

/** What cannot be removed is passed over by lists. */
async function discard({ port, path }: SessionFolder): Promise<void> {
  await cleanUp(() => port.unlink(join(path, segmentName(1).name)))
  await cleanUp(() => port.rmdir(path))
}

function alreadyThere(sessionId: string): SessionError {
  return new SessionError('EXISTS', 'there is a session with this id already', { sessionId })
}

/**
 * Events as batches, none larger than a batch can be.
 * @throws SessionError `INVALID_PAYLOAD` where one event is.
 */
export function* batchesOf(id: string, events: Iterable<EncodedEvent>): Generator<readonly EncodedEvent[]> {
  let batch: EncodedEvent[] = []
  let sizeBytes = 0
  for (const event of events) {
    const { eventSizeBytesMax } = journalCapabilities
    if (event.sizeBytes > eventSizeBytesMax) throw tooLarge(id, event, eventSizeBytesMax)
    if (batch.length > 0 && sizeBytes + event.sizeBytes > journalCapabilities.batchSizeBytesMax) {
      yield batch
      batch = []
      sizeBytes = 0
    }
    batch.push(event)
    sizeBytes += event.sizeBytes
  }
  if (batch.length > 0) yield batch
}
