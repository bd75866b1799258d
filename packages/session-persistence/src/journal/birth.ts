import { join } from 'node:path'
import { SessionError, type SessionHeader } from '@tidemark/session-core'
import { RecentBatches, refuseBrokenSeed, tooLarge } from '../acceptance.ts'
import { chainDigest } from '../digest.ts'
import { isLarger, type EncodedEvent } from '../encoded-event.ts'
import { begin, nothing, type Begun } from './beginning.ts'
import type { ClaimTerms } from './claim.ts'
import { sealCommit } from './commit.ts'
import { FolderMemory } from './folder-memory.ts'
import { folderName, passingPrefixes } from './folder-name.ts'
import { journalCapabilities } from './capabilities.ts'
import type { LeaseStart } from './lease-start.ts'
import { JournalLease } from './lease.ts'
import { LogActivity } from './log-activity.ts'
import { SessionLock } from './lock.ts'
import type { Inheritance } from './inheritance.ts'
import { createSegment, giveUp, moved, type OwnSegment } from './own-segment.ts'
import { isSystemFailure } from './port.ts'
import { createFolder, exists } from './private-file.ts'
import { removeFolder } from './removal.ts'
import { packedLinesOf } from './runs.ts'
import type { SessionFolder } from './segment-file.ts'
import { segmentName } from './segment-name.ts'
import type { Store } from './store.ts'
import { cleanUp, writeAll } from './writing.ts'

/** A session that is to be, and the batches that it starts with. */
export interface Birth {
  readonly session: SessionHeader
  readonly batches?: Iterable<readonly EncodedEvent[]>
  /** Puts what a fork shares into its folder. */
  readonly inherit?: (into: SessionFolder) => Promise<Inheritance>
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
  const memory = new FolderMemory()
  const building = {
    port,
    id,
    memory,
    path: join(sessionsPath, `${passingPrefixes.building}${port.random(8)}`),
  }
  await createFolder(port, building.path)
  let lock: SessionLock | undefined
  let own: OwnSegment | undefined
  try {
    const inherited = await birth.inherit?.(building)
    const { epoch = 1 } = inherited ?? {}
    lock = await SessionLock.take(building, { ...terms, force: true, holder: undefined })
    own = await createSegment(building, segmentName(epoch))
    const begun = await write(own, birth, { ...terms, inherited, socket: await lock.announce(epoch) })
    await port.syncFolder(building.path)
    await rename(building, path)
    lock.movedTo(path)
    await port.syncFolder(sessionsPath)
    own = moved(own, { port, id, path, memory })
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

type BirthTerms = Pick<ClaimTerms, 'claim' | 'durability'> & {
  readonly socket: string | undefined
  readonly inherited: Inheritance | undefined
}

/**
 * Everything that the session starts with, synced. All of it is durable before anybody can see it. Where it begins
 * with nothing, its commits say so.
 */
async function write(
  own: OwnSegment,
  { session, batches = [] }: Birth,
  { claim, durability, socket, inherited }: BirthTerms,
): Promise<Begun & Pick<LeaseStart, 'activity' | 'log'>> {
  const { port, id } = own.folder
  const { epoch } = own.name
  const succession = inherited
    ? { predecessor: inherited.predecessor, durableSeq: inherited.predecessor.seq }
    : nothing
  const { forked } = inherited ?? {}
  const beginning = { session, claim, socket, recovered: [], succession, forked, isBirth: true } as const
  const { salt, ...begun } = await begin(own, beginning)
  let { tail, offset, commit } = begun
  const log = inherited?.log ?? tail.digest
  const activity = new LogActivity()
  if (!inherited) activity.beginsTheLog()
  for (const batch of inherited ? rests(inherited) : batches) {
    const from = tail.seq + 1
    refuseBrokenSeed(id, batch, from)
    const lines = packedLinesOf(batch)
    const { seq: before } = tail
    tail = { seq: tail.seq + batch.length, digest: chainDigest(tail.digest, [lines]) }
    const span = { from, to: tail.seq, digest: tail.digest }
    const durable = inherited ? before : tail.seq
    commit = sealCommit({ ...span, epoch, batchId: port.random(8), durable }, salt)
    activity.hear(batch.map(({ event }) => event))
    const bytes = Buffer.concat([lines, commit])
    await writeAll(own.file, bytes, offset)
    offset += bytes.length
  }
  await own.file.sync()
  const { name: segment } = own.name
  if (tail.seq >= 0) await own.head.write({ ...tail, segment, offset, strict: durability === 'strict' })
  return { salt, tail, offset, provenSeq: tail.seq, commit, activity, log }
}

function rests({ rest }: Inheritance): readonly (readonly EncodedEvent[])[] {
  return rest.length === 0 ? [] : [rest]
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
    if (isLarger(event, eventSizeBytesMax)) throw tooLarge(id, event, eventSizeBytesMax)
    if (batch.length > 0 && sizeBytes + event.sizeBytesMax > journalCapabilities.batchSizeBytesMax) {
      yield batch
      batch = []
      sizeBytes = 0
    }
    batch.push(event)
    sizeBytes += event.sizeBytesMax
  }
  if (batch.length > 0) yield batch
}
