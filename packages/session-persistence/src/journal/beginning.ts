import { SessionError, type SessionHeader, type SessionRecovered } from '@tidemark/session-core'
import type { Claim, Tail, Writer } from '../storage.ts'
import { chainDigest } from '../digest.ts'
import { sealCommit } from './commit.ts'
import { corrupt } from './failure.ts'
import { formatVersion } from './format-version.ts'
import { sealHeader, type Forked, type SegmentHeader } from './header.ts'
import type { LogBatch } from './chain-reader.ts'
import type { OwnSegment } from './own-segment.ts'
import type { JournalPort } from './port.ts'
import { openSegment, readSpan, type SessionFolder } from './segment-file.ts'
import { headerSizeBytesMax } from './size.ts'
import type { Succession } from './succession.ts'
import { closeAfterFailure, writeAll } from './writing.ts'

/** Kept free in a first header for what later claims add: a predecessor, longer names, carried types, recoveries. */
const claimRoomSizeBytes = 32_768

export interface Beginning {
  readonly session: SessionHeader
  readonly claim: Claim
  readonly socket: string | undefined
  readonly recovered: readonly SessionRecovered[]
  readonly succession: Succession
  /** Of a session that nobody could see before. */
  readonly isBirth?: true
  readonly forked?: Forked | undefined
}

/** How a segment stands once its header and first batch are in it; not synced yet. */
export interface Begun {
  readonly salt: string
  readonly tail: Tail
  /** Bytes in the segment. */
  readonly offset: number
  /** The last seq that something on disk proves durable. */
  readonly provenSeq: number
  /** The last line. */
  readonly commit: Buffer
}

/** Where a session begins that goes on from nothing. */
export const nothing: Succession = { predecessor: undefined, durableSeq: -1 }

/**
 * Writes a segment's header and its first batch: without events, or with those that are carried over. Both are to be
 * synced together.
 */
export async function begin(own: OwnSegment, beginning: Beginning): Promise<Begun> {
  const { port, id } = own.folder
  const { epoch } = own.name
  const { predecessor, batch, durableSeq } = beginning.succession
  const salt = port.random(16)
  const header = sealHeader(await headerOf(own, beginning, salt))
  const head = Buffer.from(`${header.text}\n`)
  // What is born must leave room for what each later claim adds, or nobody could ever resume it.
  const sizeBytesMax = headerSizeBytesMax - (beginning.isBirth ? claimRoomSizeBytes : 0)
  if (head.length > sizeBytesMax) {
    const message = `${id}: a header of ${head.length} bytes, at most ${sizeBytesMax}`
    throw new SessionError('INVALID_PAYLOAD', message)
  }
  const tail = batch?.end.tail ?? { seq: durableSeq, digest: predecessor?.digest ?? header.sum }
  const batchId = batch?.commit.batchId ?? port.random(8)
  const span = { from: durableSeq + 1, to: tail.seq, digest: tail.digest }
  const commit = sealCommit({ ...span, epoch, batchId, durable: durableSeq }, salt)
  const lines = batch ? await linesAgain(own.folder, batch) : Buffer.alloc(0)
  const bytes = Buffer.concat([head, lines, commit])
  await writeAll(own.file, bytes, 0)
  return { salt, tail, offset: bytes.length, provenSeq: durableSeq, commit }
}

async function headerOf(own: OwnSegment, beginning: Beginning, salt: string): Promise<SegmentHeader> {
  const { session, claim, socket, recovered, succession } = beginning
  const { predecessor, carried, durableSeq } = succession
  const { epoch, rotation } = own.name
  const writer = await writerOf(own.folder.port, claim)
  return {
    format: formatVersion,
    session,
    epoch,
    rotation,
    firstSeq: durableSeq + 1,
    salt,
    writer,
    ...(socket !== undefined && { socket }),
    ...(predecessor && { predecessor }),
    ...(beginning.forked && { forked: beginning.forked }),
    ...(carried && { carried }),
    ...(recovered.length > 0 && { recovered }),
  }
}

async function writerOf(port: JournalPort, { incarnation, enabledBy, carry }: Claim): Promise<Writer> {
  const { pid, host, bootId, startedAt } = await port.identity()
  return { incarnation, pid, host, bootId, startedAt, enabledBy, ...(carry?.length && { carry }) }
}

/** The event lines of a batch as they stand in its segment: the same bytes make the same digest. */
async function linesAgain(folder: SessionFolder, { segment, start, end }: LogBatch): Promise<Buffer> {
  const { file } = await openSegment(folder, segment)
  try {
    const bytes = await readSpan(file, start.offset, end.offset)
    const lines = bytes.subarray(0, bytes.lastIndexOf(10, -2) + 1)
    if (chainDigest(start.tail.digest, [lines]) === end.tail.digest) return lines
    throw corrupt(folder.id, { segment, reason: 'changed while it was read', offset: start.offset })
  } finally {
    await closeAfterFailure(file)
  }
}
