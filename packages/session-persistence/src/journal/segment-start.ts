import { SessionError } from '@tidemark/session-core'
import { findCommitBefore } from './commit.ts'
import { corrupt, type Unfit } from './failure.ts'
import type { FirstBatch } from './folder-memory.ts'
import { proofOf, rotationOf, type Head } from './head.ts'
import { firstToOf, type SegmentHeader } from './header.ts'
import { findPacked } from './pack-shelf.ts'
import type { FileStat, PortFile } from './port.ts'
import { judgeEnd, judgeHeader, startSizeBytesMax, type HeaderVerdict, type WholeEnd } from './recover.ts'
import { openSegment, readPieces, readSpan, type SessionFolder } from './segment-file.ts'
import type { SegmentName } from './segment-name.ts'
import { SegmentScan, type Position } from './segment-scan.ts'
import { headerSizeBytesMax } from './size.ts'
import { readTail } from './tail.ts'

/** A segment's header, and where its batches begin. */
export interface OpenedHeader {
  readonly header: SegmentHeader
  /** The header's sum: in the first segment the digest of the empty log. */
  readonly sum: string
  readonly start: Position
}

/** `void`: a claim that did not get to its first batch; its epoch is spent and it holds nothing. */
export type SegmentStart =
  | { readonly kind: 'begun'; readonly opened: OpenedHeader; readonly sizeBytes: number }
  | {
      readonly kind: 'void'
      readonly reason: string
      readonly sizeBytes: number
      /** What its claimant had proven durable, where its header is whole. */
      readonly provenSeq?: number
    }

/** What is read first: most headers are short. */
const frontSizeBytes = 8_192

/**
 * Reads how a segment begins. `head` is its epoch's, if there is one.
 * @throws SessionError `CORRUPT` when no torn write explains it, `UNSUPPORTED_FORMAT`.
 */
export async function readStart(
  folder: SessionFolder,
  name: SegmentName,
  head: Head | undefined,
): Promise<SegmentStart> {
  const { file, stat } = await openSegment(folder, name.name)
  try {
    const { sizeBytes } = stat
    const { front, verdict: found } = await readHeaderLine(file, sizeBytes, isBegunBy(head, name))
    if (found.kind === 'void') return { ...found, sizeBytes }
    if (found.kind === 'unfit')
      throw corrupt(folder.id, { segment: name.name, reason: found.reason, offset: 0, line: 1, rule: 'R8' })
    const opened = open(folder, name, Buffer.from(found.line))
    refuseOthers(folder, name, opened)
    const begun = { kind: 'begun', opened, sizeBytes } as const
    // A first segment was durable before its folder got its name.
    if (opened.header.predecessor === undefined) return begun
    return (await readFirstBatch(folder, { file, stat, front, name, opened, head })) ?? begun
  } finally {
    await file.close()
  }
}

/** Reads the header of a segment that another one seals: its batches are checked when they are read. */
export async function readSealed(
  folder: SessionFolder,
  name: SegmentName,
): Promise<{ opened: OpenedHeader; sizeBytes: number }> {
  const packed = findPacked(folder, name.name)?.segment
  if (packed) return { opened: open(folder, name, Buffer.from(packed.header)), sizeBytes: packed.bytes }
  const { file, stat } = await openSegment(folder, name.name)
  try {
    const { sizeBytes } = stat
    const { verdict: found } = await readHeaderLine(file, sizeBytes, false)
    if (found.kind === 'header') return { opened: open(folder, name, Buffer.from(found.line)), sizeBytes }
    const reason = `is sealed, but ${found.reason}`
    throw corrupt(folder.id, { segment: name.name, reason, offset: 0, line: 1, rule: 'R1' })
  } finally {
    await file.close()
  }
}

/** A segment's header and its sum, where they can be read: whatever session they name. */
export async function findHeaderIn(
  folder: SessionFolder,
  name: SegmentName,
): Promise<{ header: SegmentHeader; sum: string } | undefined> {
  const { file, stat } = await openSegment(folder, name.name)
  try {
    const { verdict: found } = await readHeaderLine(file, stat.sizeBytes, false)
    const parsed =
      found.kind === 'header' ? folder.memory.parseHeader(Buffer.from(found.line).toString()) : undefined
    return parsed?.kind === 'header' ? parsed : undefined
  } finally {
    await file.close()
  }
}

/**
 * Whether a claim that the log passed over holds no event of its own: none at all, or a batch that it carried over,
 * which stands in the log.
 */
export async function isEmptyClaim(folder: SessionFolder, name: SegmentName): Promise<boolean> {
  const start = await readStart(folder, name, undefined)
  if (name.rotation > 0 || start.sizeBytes > startSizeBytesMax) return false
  if (start.kind === 'void') return true
  const { header, start: from } = start.opened
  const scan = new SegmentScan(header, from)
  const { file } = await openSegment(folder, name.name)
  try {
    for await (const piece of readPieces(file, from.offset, start.sizeBytes)) {
      for (const found of scan.push(piece))
        if (found.kind === 'damage' || found.end.tail.seq !== firstToOf(header)) return false
    }
  } finally {
    await file.close()
  }
  return header.predecessor !== undefined && scan.isClean
}

interface Front {
  readonly verdict: HeaderVerdict
  /** The bytes that were read for it. */
  readonly front: Buffer
}

async function readHeaderLine(file: PortFile, sizeBytes: number, hasHead: boolean): Promise<Front> {
  let bytes = await readSpan(file, 0, Math.min(sizeBytes, frontSizeBytes))
  if (!bytes.includes(10)) bytes = await readSpan(file, 0, Math.min(sizeBytes, headerSizeBytesMax))
  const lf = bytes.indexOf(10)
  const hole = bytes.indexOf(0)
  const hasHole = hole !== -1 && (lf === -1 || hole < lf)
  if (hasHole && sizeBytes <= startSizeBytesMax) bytes = await readSpan(file, 0, sizeBytes)
  return { verdict: judgeHeader(bytes, sizeBytes, hasHead), front: bytes }
}

interface Begun {
  readonly file: PortFile
  readonly stat: FileStat
  readonly front: Buffer
  readonly name: SegmentName
  readonly opened: OpenedHeader
  readonly head: Head | undefined
}

/** `undefined` when the first batch is whole. A header without one seals nothing: what is left is judged as a tail. */
async function readFirstBatch(folder: SessionFolder, begun: Begun): Promise<SegmentStart | undefined> {
  const { file, name, opened, head } = begun
  const { sizeBytes } = begun.stat
  const { header, start } = opened
  if (await isBegunStill(folder, begun)) return undefined
  const first = await findFirstBatch(begun)
  if (first) {
    folder.memory.firstBatch = first
    return undefined
  }
  const { salt, epoch, rotation } = header
  const tail = await readTail(file, { from: start.offset, to: sizeBytes }, { salt, epoch })
  const end: WholeEnd = { seq: start.tail.seq, epoch, rotation, firstTo: firstToOf(header) }
  const proofs = head ? [proofOf(head)] : []
  const verdict = judgeEnd({ end, tail, proofs, seals: new Map() })
  if (verdict.kind !== 'refused')
    return { kind: 'void', reason: 'was never begun', sizeBytes, provenSeq: header.firstSeq - 1 }
  const { rule, reason } = verdict
  throw corrupt(folder.id, { segment: name.name, reason, rule, offset: start.offset, line: 2 })
}

/** Whether a head says that this segment, or a later one of its epoch, was begun. */
function isBegunBy(head: Head | undefined, { rotation }: SegmentName): boolean {
  return head !== undefined && rotationOf(head) >= rotation
}

/**
 * Whether the first batch is the one that was found whole before: the same file still says at the same place that it
 * committed the same. Whoever reads its events proves them again.
 */
async function isBegunStill({ memory }: SessionFolder, { file, stat, opened }: Begun): Promise<boolean> {
  const { salt } = opened.header
  const { firstBatch: known } = memory
  if (known?.identity !== stat.identity || known.salt !== salt || known.offset > stat.sizeBytes) return false
  const span = { from: opened.start.offset - 1, to: known.offset }
  return (await findCommitBefore(file, span, salt))?.digest === known.digest
}

async function findFirstBatch(begun: Begun): Promise<FirstBatch | undefined> {
  const { header, start } = begun.opened
  const scan = new SegmentScan(header, start)
  for await (const piece of bodyOf(begun)) {
    for (const found of scan.push(piece)) {
      if (found.kind === 'damage') return undefined
      const { offset, tail } = found.end
      return { identity: begun.stat.identity, salt: header.salt, offset, digest: tail.digest }
    }
  }
  return undefined
}

/** What follows the header, from what was read already on. */
async function* bodyOf({ file, stat, front, opened }: Begun): AsyncGenerator<Buffer, void> {
  const known = front.subarray(opened.start.offset)
  yield known
  yield* readPieces(file, opened.start.offset + known.length, stat.sizeBytes)
}

/** The newest segments are a session's own; those that they go on from may be shared with the one it was forked from. */
function refuseOthers({ id }: SessionFolder, { name: segment }: SegmentName, { header }: OpenedHeader): void {
  if (header.session.id === id) return
  throw corrupt(id, { segment, reason: 'belongs to another session', offset: 0, line: 1, rule: 'R8' })
}

function open({ id, memory }: SessionFolder, name: SegmentName, line: Buffer): OpenedHeader {
  const parsed = memory.parseHeader(line.toString())
  const unfit = (reason: string): Unfit => ({ segment: name.name, reason, offset: 0, line: 1, rule: 'R8' })
  switch (parsed.kind) {
    case 'newer': {
      const message = `${id}: ${name.name} is of format ${parsed.format}, newer than this program reads`
      throw new SessionError('UNSUPPORTED_FORMAT', message, {
        sessionId: id,
        segment: name.name,
        format: parsed.format,
      })
    }
    case 'broken':
      throw corrupt(id, unfit('is a header whose sum is wrong'))
    case 'header': {
      const { header, sum } = parsed
      const isNamed = header.epoch === name.epoch && header.rotation === name.rotation
      if (!isNamed)
        throw corrupt(id, unfit(`says that it is epoch ${header.epoch}, rotation ${header.rotation}`))
      const { seq, digest } = header.predecessor ?? { seq: -1, digest: sum }
      if (header.rotation > 0 && !header.predecessor) throw corrupt(id, unfit('goes on from nothing'))
      if (header.firstSeq !== seq + 1) throw corrupt(id, unfit('starts at another seq than it goes on from'))
      return { header, sum, start: { offset: line.length + 1, lines: 1, tail: { seq, digest } } }
    }
  }
}
