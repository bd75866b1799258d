import { join } from 'node:path'
import { SessionError, type SessionHeader } from '@tidemark/session-core'
import { RecentBatches, refuseBrokenSeed, tooLarge } from '../acceptance.ts'
import { chainDigest } from '../digest.ts'
import { linesOf, type EncodedEvent } from '../encoded-event.ts'
import { begin, nothing, type Begun } from './beginning.ts'
import type { ClaimTerms } from './claim.ts'
import { sealCommit } from './commit.ts'
import { folderName, passingPrefixes } from './folder-name.ts'
import { journalCapabilities, JournalLease } from './lease.ts'
import { SessionLock } from './lock.ts'
import { createSegment, giveUp, moved, type OwnSegment } from './own-segment.ts'
import { isSystemFailure } from './port.ts'
import { createFolder, exists } from './private-file.ts'
import { removeFolder } from './removal.ts'
import type { SessionFolder } from './segment-file.ts'
import { segmentName } from './segment-name.ts'
import type { Store } from './store.ts'
import { cleanUp, writeAll } from './writing.ts'

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
  let lock: SessionLock | undefined
  let own: OwnSegment | undefined
  try {
    lock = await SessionLock.take(building, { ...terms, force: true, holder: undefined })
    own = await createSegment(building, segmentName(1))
    const begun = await write(own, birth, { ...terms, socket: await lock.announce(1) })
    await port.syncFolder(building.path)
    await rename(building, path)
    lock.movedTo(path)
    await port.syncFolder(sessionsPath)
    own = moved(own, { port, id, path })
    const { session } = birth
    return await JournalLease.start(
      { ...begun, own, lock, session, recovered: [], recent: new RecentBatches() },
      terms,
    )
  } catch (error) {
    if (own) await giveUp(own)
    await lock?.release()
    await cleanUp(() => removeFolder(port, building.path))
    throw error
  }
}

type BirthTerms = Pick<ClaimTerms, 'claim' | 'durability'> & { readonly socket: string | undefined }

/**
 * Everything that the session starts with, synced. All of it is durable before anybody can see it, and its commits
 * say so.
 */
async function write(
  own: OwnSegment,
  { session, batches }: Birth,
  { claim, durability, socket }: BirthTerms,
): Promise<Begun> {
  const { port, id } = own.folder
  const { epoch } = own.name
  const { salt, ...begun } = await begin(own, { session, claim, socket, recovered: [], succession: nothing })
  let { tail, offset } = begun
  for await (const batch of batches) {
    const from = tail.seq + 1
    refuseBrokenSeed(id, batch, from)
    const lines = linesOf(batch)
    tail = { seq: tail.seq + batch.length, digest: chainDigest(tail.digest, [lines]) }
    const span = { from, to: tail.seq, digest: tail.digest }
    const commit = sealCommit({ ...span, epoch, batchId: port.random(8), durable: tail.seq }, salt)
    const bytes = Buffer.concat([lines, commit])
    await writeAll(own.file, bytes, offset)
    offset += bytes.length
  }
  await own.file.sync()
  const { name: segment } = own.name
  if (tail.seq >= 0) await own.head.write({ ...tail, segment, offset, strict: durability === 'strict' })
  return { salt, tail, offset, provenSeq: tail.seq }
}

async function rename({ port, id, path: from }: SessionFolder, to: string): Promise<void> {
  try {
    await port.rename(from, to)
  } catch (error) {
    if (isSystemFailure(error) && (await exists(port, to))) throw alreadyThere(id)
    throw error
  }
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
