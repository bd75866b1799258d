import { SessionError, type SessionHeader } from '@tidemark/session-core'
import { unknownSession } from '../unknown-session.ts'
import { corrupt } from './failure.ts'
import type { Predecessor, SegmentHeader } from './header.ts'
import { hasReason } from './port.ts'
import { readStart, type OpenedHeader, type SessionFolder } from './segment-file.ts'
import { highestEpoch, parseName, segmentsIn, type SegmentName } from './segment-name.ts'
import type { Position } from './segment-scan.ts'

/** One segment of a log. */
export interface Link {
  readonly name: string
  readonly header: SegmentHeader
  /** Where its first batch begins. */
  readonly start: Position
  /** Bytes that count: up to its seal, or in the newest what was there when the folder was last listed. */
  readonly endBytes: number
  /** What its successor says of it. */
  readonly seal?: Predecessor
}

/** The segments that make up a log, oldest first; segments beside it are not part of the log. */
export interface Chain {
  readonly links: readonly Link[]
  /** The highest epoch that any name in the folder uses. */
  readonly epoch: number
}

/** How often a folder that changes under the reader is read anew. */
const listingsMax = 32

/**
 * Finds the log in a folder: from the newest segment that was begun, along the predecessors, to the first.
 *
 * The newest segment's size is taken before the folder is listed again: whoever claims a later epoch reads
 * after it created its name, so everything that was there before is in its log too.
 *
 * @throws SessionError `NOT_FOUND`, `CORRUPT`, `UNSUPPORTED_FORMAT`.
 */
export async function findChain(folder: SessionFolder): Promise<Chain> {
  let names = await listNames(folder)
  for (let listings = 1; listings <= listingsMax; listings++) {
    const links = await findLinks(folder, segmentsIn(names))
    const again = await listNames(folder)
    if (isSame(segmentsIn(again), segmentsIn(names))) return { links, epoch: highestEpoch(again) }
    names = again
  }
  throw new SessionError(
    'STORAGE_FAILED',
    `${folder.id}: the folder changed ${listingsMax} times while it was read`,
  )
}

/** The session that a chain belongs to, as its first segment says. */
export function sessionIn({ links }: Chain, id: string): SessionHeader {
  const session = links[0]?.header.session
  if (session === undefined) throw corrupt(id, { segment: '.', reason: 'holds no log' })
  return session
}

function isSame(some: readonly SegmentName[], others: readonly SegmentName[]): boolean {
  return some.length === others.length && some.every(({ name }, index) => name === others[index]?.name)
}

/**
 * The names in a session's folder.
 * @throws SessionError `NOT_FOUND`, `CORRUPT` when something else is in its place.
 */
export async function listNames({ port, id, path }: SessionFolder): Promise<readonly string[]> {
  try {
    const { kind } = await port.stat(path)
    if (kind !== 'folder') throw corrupt(id, { segment: '.', reason: 'is no folder' })
    return await port.readdir(path)
  } catch (error) {
    if (hasReason(error, 'ENOENT')) throw unknownSession(id)
    throw error
  }
}

async function findLinks(folder: SessionFolder, segments: readonly SegmentName[]): Promise<Link[]> {
  let link = await findNewest(folder, segments)
  const links = [link]
  while (link.header.predecessor) {
    link = await readPredecessor(folder, link, link.header.predecessor)
    links.push(link)
  }
  return links.reverse()
}

/** Claims that were never begun are passed over; their epochs are spent. */
async function findNewest(folder: SessionFolder, segments: readonly SegmentName[]): Promise<Link> {
  for (const name of segments) {
    const start = await readStart(folder, name)
    if (start.kind === 'begun')
      return linkOf(folder, name, { opened: start.opened, endBytes: start.sizeBytes })
  }
  const segment = segments.at(-1)?.name ?? '.'
  throw corrupt(folder.id, {
    segment,
    reason: 'holds no log: no segment was begun',
    offset: 0,
    intactThrough: -1,
  })
}

async function readPredecessor(folder: SessionFolder, later: Link, seal: Predecessor): Promise<Link> {
  const name = parseName(seal.segment)
  const { epoch, rotation } = later.header
  const isEarlier =
    name.kind === 'segment' && (name.epoch < epoch || (name.epoch === epoch && name.rotation < rotation))
  if (!isEarlier)
    throw corrupt(folder.id, { segment: later.name, reason: 'names a predecessor that is not earlier' })
  const start = await readStart(folder, name)
  if (start.kind === 'void')
    throw corrupt(folder.id, { segment: name.name, reason: `is sealed, but ${start.reason}` })
  if (start.sizeBytes < seal.bytes) {
    const reason = `was sealed at byte ${seal.bytes}, and has ${start.sizeBytes}`
    throw corrupt(folder.id, { segment: name.name, reason, offset: start.sizeBytes })
  }
  return linkOf(folder, name, { opened: start.opened, endBytes: seal.bytes, seal })
}

interface Found {
  readonly opened: OpenedHeader
  readonly endBytes: number
  readonly seal?: Predecessor
}

function linkOf({ id }: SessionFolder, { name }: SegmentName, { opened, endBytes, seal }: Found): Link {
  const { header, sum, sizeBytes } = opened
  const { seq, digest } = header.predecessor ?? { seq: -1, digest: sum }
  if (header.firstSeq !== seq + 1)
    throw corrupt(id, { segment: name, reason: 'starts at another seq than it goes on from' })
  const start = { offset: sizeBytes, lines: 1, tail: { seq, digest } }
  return { name, header, start, endBytes, ...(seal && { seal }) }
}
