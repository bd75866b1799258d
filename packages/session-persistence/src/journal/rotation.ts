import type { SessionRecovered } from '@tidemark/session-core'
import type { Tail } from '../storage.ts'
import { corrupt } from './failure.ts'
import { parseHeader, sealHeader, type SegmentHeader } from './header.ts'
import { createSegment, type OwnSegment } from './own-segment.ts'
import { readSpan } from './segment-file.ts'
import { segmentName } from './segment-name.ts'
import { headerSizeBytesMax } from './size.ts'

/** Where a lease writes its next batch. */
export interface Place {
  readonly own: OwnSegment
  /** Keys the commits of this segment. */
  readonly salt: string
  readonly offset: number
  /** A header that is written with the batch: until both are synced the segment holds nothing. */
  readonly header?: Buffer
}

/** The end of what a lease acknowledged, and what it is about to write. */
export interface RotationTerms {
  readonly tail: Tail
  /** The last seq of the batch that the new segment begins with. */
  readonly to: number
  /** Recoveries that no event of the log tells yet. */
  readonly recovered: readonly SessionRecovered[]
}

/**
 * The next segment of the same epoch, created and empty. Its header seals the one before where everything was synced
 * and looked at; it takes effect with the batch that is written with it.
 *
 * `undefined` where the header would be too large: then the segment grows on.
 */
export async function rotate({ own, offset }: Place, terms: RotationTerms): Promise<Place | undefined> {
  const { folder, name } = own
  const salt = folder.port.random(16)
  const predecessor = { segment: name.name, bytes: offset, ...terms.tail }
  const header = Buffer.from(
    `${sealHeader(headerAfter(await readOwn(own, offset), { salt, ...terms, predecessor })).text}\n`,
  )
  if (header.length > headerSizeBytesMax) return undefined
  const next = await createSegment(folder, segmentName(name.epoch, name.rotation + 1))
  return { own: { ...next, head: own.head }, salt, offset: 0, header }
}

interface NextTerms extends RotationTerms {
  readonly salt: string
  readonly predecessor: NonNullable<SegmentHeader['predecessor']>
}

/** Session and writer are those of the segment before. */
function headerAfter(
  { carried: _, ...before }: SegmentHeader,
  { salt, predecessor, to, recovered }: NextTerms,
): SegmentHeader {
  const { format, session, epoch, rotation, writer, socket } = before
  return {
    format,
    session,
    epoch,
    rotation: rotation + 1,
    firstSeq: predecessor.seq + 1,
    salt,
    writer,
    ...(socket !== undefined && { socket }),
    predecessor,
    firstTo: to,
    ...(recovered.length > 0 && { recovered }),
  }
}

async function readOwn({ folder, file, name }: OwnSegment, sizeBytes: number): Promise<SegmentHeader> {
  const bytes = await readSpan(file, 0, Math.min(sizeBytes, headerSizeBytesMax))
  const parsed = parseHeader(bytes.subarray(0, bytes.indexOf(10)).toString())
  if (parsed.kind === 'header') return parsed.header
  throw corrupt(folder.id, { segment: name.name, reason: 'has lost its header', offset: 0, line: 1 })
}
