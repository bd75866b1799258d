import { join } from 'node:path'
import { SessionError } from '@tidemark/session-core'
import { corrupt, type Unfit } from './failure.ts'
import { headerSizeBytesMax, parseHeader, type SegmentHeader } from './header.ts'
import { hasReason, type JournalPort, type PortFile } from './port.ts'
import { openFile } from './private-file.ts'
import { commitSizeBytesMax } from './commit.ts'
import type { SegmentName } from './segment-name.ts'

/** Where the files of one session are. */
export interface SessionFolder {
  readonly port: JournalPort
  readonly id: string
  readonly path: string
}

/** A segment's header, and where its batches begin. */
export interface OpenedHeader {
  readonly header: SegmentHeader
  /** The header's sum: in the first segment the digest of the empty log. */
  readonly sum: string
  readonly sizeBytes: number
}

/** `void`: a claim that did not get to its first batch; its epoch is spent and it holds nothing. */
export type SegmentStart =
  | { readonly kind: 'begun'; readonly opened: OpenedHeader; readonly sizeBytes: number }
  | { readonly kind: 'void'; readonly reason: string }

/** Bytes read at once. */
const pieceSizeBytes = 262_144

/** What a torn claim holds at most, and what is read first: most headers are short. */
const startSizeBytesMax = headerSizeBytesMax + commitSizeBytesMax
const frontSizeBytes = 8_192

/** The bytes of a file from one offset up to another, in pieces. */
export async function* readPieces(file: PortFile, from: number, to: number): AsyncGenerator<Buffer, void> {
  for (let offset = from; offset < to;) {
    const piece = Buffer.allocUnsafe(Math.min(pieceSizeBytes, to - offset))
    const countBytes = await file.read(piece, offset)
    if (countBytes === 0)
      throw new SessionError('STORAGE_FAILED', `a segment shrank to ${offset} bytes while it was read`)
    yield piece.subarray(0, countBytes)
    offset += countBytes
  }
}

export async function openSegment(
  { port, id, path }: SessionFolder,
  segment: string,
): ReturnType<typeof openFile> {
  try {
    return await openFile(port, join(path, segment))
  } catch (error) {
    if (hasReason(error, 'ENOENT')) throw corrupt(id, { segment, reason: 'is missing' })
    if (hasReason(error, 'ELOOP')) throw corrupt(id, { segment, reason: 'is a link' })
    throw error
  }
}

/**
 * Reads how a segment begins.
 * @throws SessionError `CORRUPT` when no torn write explains it, `UNSUPPORTED_FORMAT`.
 */
export async function readStart(folder: SessionFolder, name: SegmentName): Promise<SegmentStart> {
  const { start, sizeBytes } = await readJudged(folder, name)
  switch (start.kind) {
    case 'void':
      return start
    case 'unfit':
      throw corrupt(folder.id, { segment: name.name, reason: start.reason, offset: 0, line: 1 })
    case 'header':
      return { kind: 'begun', opened: open(folder, name, start.bytes), sizeBytes }
  }
}

/** The id in a segment's header, where it can be read. */
export async function findIdIn(folder: SessionFolder, name: SegmentName): Promise<string | undefined> {
  const { start } = await readJudged(folder, name)
  const parsed = start.kind === 'header' ? parseHeader(start.bytes.toString()) : undefined
  return parsed?.kind === 'header' ? parsed.header.session.id : undefined
}

async function readJudged(
  folder: SessionFolder,
  { name }: SegmentName,
): Promise<{ start: Judged; sizeBytes: number }> {
  const { file, stat } = await openSegment(folder, name)
  try {
    const { sizeBytes } = stat
    let bytes = await readFront(file, Math.min(sizeBytes, frontSizeBytes))
    const isEnough = bytes.length - bytes.indexOf(10) > commitSizeBytesMax + 1 && bytes.includes(10)
    if (!isEnough) bytes = await readFront(file, Math.min(sizeBytes, startSizeBytesMax))
    return { start: judgeStart(bytes, sizeBytes), sizeBytes }
  } finally {
    await file.close()
  }
}

async function readFront(file: PortFile, sizeBytes: number): Promise<Buffer> {
  const pieces: Buffer[] = []
  for await (const piece of readPieces(file, 0, sizeBytes)) pieces.push(piece)
  return Buffer.concat(pieces)
}

function open({ id }: SessionFolder, name: SegmentName, line: Buffer): OpenedHeader {
  const parsed = parseHeader(line.toString())
  const unfit = (reason: string): Unfit => ({ segment: name.name, reason, offset: 0, line: 1 })
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
      if (header.session.id !== id) throw corrupt(id, unfit('belongs to another session'))
      const isNamed = header.epoch === name.epoch && header.rotation === name.rotation
      if (!isNamed)
        throw corrupt(id, unfit(`says that it is epoch ${header.epoch}, rotation ${header.rotation}`))
      return { header, sum, sizeBytes: line.length + 1 }
    }
  }
}

type Judged =
  | { readonly kind: 'void'; readonly reason: string }
  | { readonly kind: 'unfit'; readonly reason: string }
  | { readonly kind: 'header'; readonly bytes: Buffer }

/**
 * A claim writes its header and an empty batch at once. What a crash can leave of that is void: nothing, a
 * beginning, or holes. A segment that ever held an event has a line after those two, and is never void.
 */
function judgeStart(bytes: Buffer, sizeBytes: number): Judged {
  const lf = bytes.indexOf(10)
  if (lf === -1) return judgeTorn(bytes, sizeBytes, '{"segment":{')
  const line = bytes.subarray(0, lf)
  const rest = bytes.subarray(lf + 1)
  const isClaim = sizeBytes <= startSizeBytesMax && isOneLine(rest)
  if (line.includes(0)) return { kind: isClaim ? 'void' : 'unfit', reason: 'holds NUL bytes' }
  const isTorn = isClaim && (rest.at(-1) !== 10 || rest.includes(0))
  if (!isTorn || parseHeader(line.toString()).kind !== 'header') return { kind: 'header', bytes: line }
  const torn = judgeTorn(rest, rest.length, '{"commit":{')
  // A tail that no torn claim explains is reported where it stands, when the batches are read.
  return torn.kind === 'void' ? torn : { kind: 'header', bytes: line }
}

/** No more than the commit of an empty batch, whole or not. */
function isOneLine(rest: Buffer): boolean {
  const lf = rest.indexOf(10)
  return (
    rest.length <= commitSizeBytesMax && (lf === -1 || lf === rest.length - 1) && !rest.includes('{"seq":')
  )
}

function judgeTorn(bytes: Buffer, sizeBytes: number, start: string): Judged {
  const begins = bytes.subarray(0, start.length).toString('latin1') === start.slice(0, bytes.length)
  if (sizeBytes <= startSizeBytesMax && (begins || bytes.includes(0)))
    return { kind: 'void', reason: 'was never begun' }
  return { kind: 'unfit', reason: 'is no header' }
}
