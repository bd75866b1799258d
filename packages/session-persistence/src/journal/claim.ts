import { join } from 'node:path'
import { SessionError, isSessionError, type SessionHeader } from '@tidemark/session-core'
import { RecentBatches } from '../acceptance.ts'
import type { Claim, Tail, Writer } from '../storage.ts'
import { sealCommit } from './commit.ts'
import { sessionIn } from './chain.ts'
import {
  formatVersion,
  headerSizeBytesMax,
  sealHeader,
  type Predecessor,
  type SegmentHeader,
} from './header.ts'
import { JournalLease } from './lease.ts'
import { readToEnd, type LogBatch, type LogEnd } from './log-reader.ts'
import {
  closeAfterFailure,
  createSegment,
  fenced,
  look,
  syncSegment,
  writeAll,
  type OwnSegment,
} from './own-segment.ts'
import { hasReason, type JournalPort } from './port.ts'
import type { SessionFolder } from './segment-file.ts'
import { segmentName } from './segment-name.ts'

/** Kept free in a first header for a later one's predecessor, larger numbers, longer host name and carried types. */
const claimRoomSizeBytes = 16_384

/** Epochs that others took while this claimant tried to. */
const attemptsMax = 32

export interface ClaimTerms {
  readonly claim: Claim
  readonly onRelease: (lease: JournalLease) => void
}

/**
 * Claims a session that exists: creates the next epoch's segment, then reads the log to its end, then writes
 * header and first batch, then looks. In any other order two writers could both believe that they are the
 * only one.
 *
 * @throws SessionError `NOT_FOUND`, `CORRUPT`, `UNSUPPORTED_FORMAT` before anything is created; `FENCED`.
 */
export async function claimSession(folder: SessionFolder, terms: ClaimTerms): Promise<JournalLease> {
  const before = await learnMore(folder)
  const own = await createNext(folder, before.end.chain.epoch)
  try {
    const { end, recent, durable } = await learnMore(folder, before)
    if (end.chain.epoch > own.name.epoch) throw fenced(folder.id, `epoch ${end.chain.epoch} was claimed`)
    // What is sealed must not be lost in a power cut that the seal survives.
    await syncSegment(folder.port, join(folder.path, end.segment))
    const session = sessionIn(end.chain, folder.id)
    const begun = await begin(own, { session, claim: terms.claim, predecessor: sealOf(end), durable })
    await own.file.sync()
    await look(own)
    return newLease({ own, session, recent, ...begun }, terms)
  } catch (error) {
    await closeAfterFailure(own.file)
    throw error
  }
}

/** What a claimant knows of a log. */
interface Learned {
  readonly end: LogEnd
  readonly recent: RecentBatches
  /** The highest seq that a commit says was durable. */
  readonly durable: number
}

async function learn(folder: SessionFolder, before?: Learned): Promise<Learned> {
  const recent = before?.recent ?? new RecentBatches()
  let durable = before?.durable ?? -1
  const onBatch = ({ commit, events, before: from, end: to }: LogBatch): void => {
    if (events.length > 0) recent.add(commit.batchId, { before: from, after: to.tail })
    durable = commit.durable
  }
  return { end: await readToEnd(folder, onBatch, before?.end), recent, durable }
}

/** How often a log is read anew that others take over while it is read. */
const readsMax = 3

/** Goes on from what was read before; anew, when somebody who took over has dropped some of that. */
async function learnMore(folder: SessionFolder, before?: Learned): Promise<Learned> {
  let known = before
  for (let reads = 1; ; reads++) {
    try {
      return await learn(folder, known)
    } catch (error) {
      const isMoved = isSessionError(error) && error.code === 'TAIL_MOVED'
      if (!isMoved || reads === readsMax) throw error
      known = undefined
    }
  }
}

/** Everything but what is known at release. */
type Begun = Omit<ConstructorParameters<typeof JournalLease>[0], 'onRelease'>

export function newLease(begun: Begun, { onRelease }: ClaimTerms): JournalLease {
  const lease: JournalLease = new JournalLease({ ...begun, onRelease: () => onRelease(lease) })
  return lease
}

async function createNext(folder: SessionFolder, epoch: number): Promise<OwnSegment> {
  for (let next = epoch + 1; next <= epoch + attemptsMax; next++) {
    try {
      const own = await createSegment(folder, segmentName(next))
      await makeDurable(own)
      return own
    } catch (error) {
      if (!hasReason(error, 'EEXIST')) throw error // another claimant took this one
    }
  }
  throw new SessionError('LOCKED', `${folder.id}: ${attemptsMax} others claimed it meanwhile`, {
    sessionId: folder.id,
  })
}

async function makeDurable(own: OwnSegment): Promise<void> {
  try {
    await own.file.sync()
    await own.folder.port.syncFolder(own.folder.path)
  } catch (error) {
    await closeAfterFailure(own.file)
    throw error
  }
}

function sealOf({ segment, offset, tail }: LogEnd): Predecessor {
  return { segment, bytes: offset, seq: tail.seq, digest: tail.digest }
}

interface Beginning {
  readonly session: SessionHeader
  readonly claim: Claim
  /** Absent in a session's first segment. */
  readonly predecessor?: Predecessor
  readonly durable: number
}

/** Writes a segment's header and its first batch, which holds no events. Both are to be synced together. */
export async function begin(
  own: OwnSegment,
  { session, claim, predecessor, durable }: Beginning,
): Promise<{ salt: string; tail: Tail; offset: number }> {
  const { port, id } = own.folder
  const { epoch, rotation } = own.name
  const salt = port.random(16)
  const firstSeq = (predecessor?.seq ?? -1) + 1
  const writer = await writerOf(port, claim)
  const fields = {
    format: formatVersion,
    session,
    epoch,
    rotation,
    firstSeq,
    salt,
    writer,
  } satisfies SegmentHeader
  const header = sealHeader({ ...fields, ...(predecessor && { predecessor }) })
  const head = Buffer.from(`${header.text}\n`)
  // What is born must leave room for what each later claim adds, or nobody could ever resume it.
  const sizeBytesMax = predecessor ? headerSizeBytesMax : headerSizeBytesMax - claimRoomSizeBytes
  if (head.length > sizeBytesMax) {
    throw new SessionError(
      'INVALID_PAYLOAD',
      `${id}: a header of ${head.length} bytes, at most ${sizeBytesMax}`,
    )
  }
  const digest = predecessor?.digest ?? header.sum
  const commit = { from: firstSeq, to: firstSeq - 1, epoch, batchId: port.random(8), durable, digest }
  const bytes = Buffer.concat([head, sealCommit(commit, salt)])
  await writeAll(own.file, bytes, 0)
  return { salt, tail: { seq: firstSeq - 1, digest }, offset: bytes.length }
}

async function writerOf(port: JournalPort, { incarnation, enabledBy, carry }: Claim): Promise<Writer> {
  const { pid, host, bootId, startedAt } = await port.identity()
  return { incarnation, pid, host, bootId, startedAt, enabledBy, ...(carry?.length && { carry }) }
}
