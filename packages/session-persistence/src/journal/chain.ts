import { join } from 'node:path'
import { SessionError, assert, isSessionError, type SessionHeader } from '@tidemark/session-core'
import { isCorrupt } from '../refused-read.ts'
import { corrupt } from './failure.ts'
import { readHead, type Head } from './head.ts'
import type { Predecessor, SegmentHeader } from './header.ts'
import { hasReason } from './port.ts'
import { listAgain, listNames } from './listing.ts'
import { isMissing, type SessionFolder } from './segment-file.ts'
import { epochsOfHeads, highestEpoch, parseName, segmentsIn, type SegmentName } from './segment-name.ts'
import type { Position } from './segment-scan.ts'
import { snapshotsIn, type SnapshotName } from './snapshot-file.ts'
import { readSealed, readStart, type OpenedHeader } from './segment-start.ts'

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
  /** Bytes in the file, when it was found. */
  readonly sizeBytes: number
}

/** The segments that make up a log, oldest first; segments beside it are not part of the log. */
export interface Chain {
  readonly links: readonly Link[]
  /** The segments that the folder held when it was found, newest first. */
  readonly segments: readonly SegmentName[]
  /** Claims newer than the newest segment, and how far each had got. */
  readonly claims: ReadonlyMap<string, number>
  /** The highest seq that one of them had proven durable; -1 when none says so. */
  readonly claimedSeq: number
  /** The durable heads of its newest epoch, and of epochs that came later, read before any segment was. */
  readonly heads: readonly Head[]
  /** The snapshots that were there before any segment was read. */
  readonly snapshots: readonly SnapshotName[]
  /** The highest epoch that any name in the folder uses. */
  readonly epoch: number
}

/** How often a folder that changes under the reader is read anew. */
const listingsMax = 32

/**
 * Finds the log in a folder: from the newest segment that was begun, along the predecessors, to the first.
 *
 * The newest segment's size is taken before the folder is listed again: whoever claims a later epoch reads
 * after it created its name, so everything that was there before is in its log too. `known`: the chain that was found
 * a moment ago.
 *
 * @throws SessionError `NOT_FOUND`, `CORRUPT`, `UNSUPPORTED_FORMAT`.
 */
export async function findChain(folder: SessionFolder, known = folder.memory.chain): Promise<Chain> {
  let names = await listNames(folder)
  for (let listings = 1; listings <= listingsMax; listings++) {
    const segments = segmentsIn(names)
    const found = await findIn(folder, names, known)
    const again = await listAgain(folder)
    if (isSame(segmentsIn(again), segments)) {
      if (found instanceof SessionError) throw found
      const chain = { ...found, segments, snapshots: snapshotsIn(names), epoch: highestEpoch(again) }
      folder.memory.chain = chain
      return chain
    }
    names = again
  }
  throw new SessionError(
    'STORAGE_FAILED',
    `${folder.id}: the folder changed ${listingsMax} times while it was read`,
  )
}

/** A name that is gone by now is no damage: that is told once the folder has been listed again. */
async function findIn(folder: SessionFolder, names: readonly string[], known: Chain | undefined) {
  try {
    const { newest, ...found } = await findNewest(folder, names)
    return { ...found, links: await findLinks(folder, newest, known) }
  } catch (error) {
    if (!isMissing(error) || !isSessionError(error)) throw error
    return error
  }
}

/**
 * The chains that can be found in a damaged folder, from its newest segment on: for an operator, who decides where
 * the log ends.
 */
export async function* soundChains(folder: SessionFolder): AsyncGenerator<Chain, void> {
  const names = await listNames(folder)
  const segments = segmentsIn(names)
  for (const name of segments) {
    const links = await findLinksFrom(folder, name)
    const nothing = { claims: new Map(), claimedSeq: -1, heads: [], snapshots: [] }
    if (links) yield { links, segments, ...nothing, epoch: highestEpoch(names) }
  }
}

async function findLinksFrom(folder: SessionFolder, name: SegmentName): Promise<readonly Link[] | undefined> {
  try {
    const start = await readStart(folder, name, undefined)
    if (start.kind === 'void') return undefined
    return await findLinks(folder, linkOf(name, start))
  } catch (error) {
    if (!isCorrupt(error)) throw error
    return undefined // an older one may be sound
  }
}

/** Whether the folder still holds the segments that a chain was found among, and no claim has got on. */
export async function isUnchanged(folder: SessionFolder, { segments, claims }: Chain): Promise<boolean> {
  if (!isSame(segmentsIn(await listAgain(folder)), segments)) return false
  for (const [name, sizeBytes] of claims) {
    if ((await sizeOf(folder, name)) !== sizeBytes) return false
  }
  return true
}

/** `undefined` when it is gone: a claim that nobody began is removed in the end. */
async function sizeOf({ port, path }: SessionFolder, name: string): Promise<number | undefined> {
  try {
    return (await port.stat(join(path, name))).sizeBytes
  } catch (error) {
    if (!hasReason(error, 'ENOENT')) throw error
    return undefined
  }
}

/** The digest that a log has before its first event: of each one another, but for its forks. */
export function emptyDigest({ links: [first] }: Pick<Chain, 'links'>): string {
  assert(first, 'a chain has a first segment')
  return first.start.tail.digest
}

/** The session that a chain belongs to, as its newest segment says: older ones may be those that a fork shares. */
export function sessionIn({ links }: Chain, id: string): SessionHeader {
  const session = links.at(-1)?.header.session
  if (session === undefined) throw corrupt(id, { segment: '.', reason: 'holds no log' })
  return session
}

/**
 * What is not part of the log: segments that were never begun, or that a takeover left behind, and bytes that follow a
 * seal, as `<segment>+<offset>`.
 */
export function besideOf({ links, segments }: Chain): readonly string[] {
  const inLog = new Set(links.map(({ name }) => name))
  const beyond = links.filter(({ sizeBytes, endBytes }) => sizeBytes > endBytes)
  return [
    ...segments.map(({ name }) => name).filter((name) => !inLog.has(name)),
    ...beyond.map(({ name, endBytes }) => `${name}+${endBytes}`),
  ]
}

function isSame(some: readonly SegmentName[], others: readonly SegmentName[]): boolean {
  return some.length === others.length && some.every(({ name }, index) => name === others[index]?.name)
}

/** What is sealed does not change, so links that were found before are links still. */
async function findLinks(folder: SessionFolder, newest: Link, known?: Chain): Promise<readonly Link[]> {
  const links = [newest]
  for (let link = newest; link.header.predecessor; links.push(link)) {
    const seal = link.header.predecessor
    const at = known?.links.findIndex((each) => isSameSegment(each, link)) ?? -1
    if (known && at !== -1) return [...known.links.slice(0, at), ...links.reverse()]
    link = await readPredecessor(folder, link, seal)
  }
  return links.reverse()
}

/** Whether a chain goes on from another one: of one log it may only have grown since. */
export function goesOn(chain: Chain, since: Chain): boolean {
  return since.links.every((link, index) => {
    const now = chain.links[index]
    return now !== undefined && isSameSegment(link, now)
  })
}

/** A session that was removed and made again has other segments of the same names. */
function isSameSegment(one: Link, other: Link): boolean {
  return one.name === other.name && one.header.salt === other.header.salt
}

/**
 * Claims that were never begun are passed over; their epochs are spent. Heads are read before the segment whose
 * epoch they are of: a writer that goes on meanwhile proves nothing that is not there yet.
 */
async function findNewest(
  folder: SessionFolder,
  names: readonly string[],
): Promise<{ newest: Link } & Pick<Chain, 'heads' | 'claims' | 'claimedSeq'>> {
  const segments = segmentsIn(names)
  const epochs = epochsOfHeads(names)
  const heads: Head[] = []
  const claims = new Map<string, number>()
  let claimedSeq = -1
  for (const name of segments) {
    while ((epochs[0] ?? 0) >= name.epoch) {
      const head = await readHead(folder, epochs.shift() ?? 0)
      if (head) heads.push(head)
    }
    const head = heads.find(({ epoch }) => epoch === name.epoch)
    const start = await readStart(folder, name, head)
    if (start.kind === 'begun') return { newest: linkOf(name, start), heads, claims, claimedSeq }
    claims.set(name.name, start.sizeBytes)
    claimedSeq = Math.max(claimedSeq, start.provenSeq ?? -1)
  }
  const segment = segments.at(-1)?.name ?? '.'
  const reason = 'holds no log: no segment was begun'
  throw corrupt(folder.id, { segment, reason, offset: 0, intactThrough: -1, rule: 'R8' })
}

async function readPredecessor(folder: SessionFolder, later: Link, seal: Predecessor): Promise<Link> {
  const name = parseName(seal.segment)
  const { epoch, rotation } = later.header
  const isEarlier =
    name.kind === 'segment' && (name.epoch < epoch || (name.epoch === epoch && name.rotation < rotation))
  if (!isEarlier) {
    const reason = 'names a predecessor that is not earlier'
    throw corrupt(folder.id, { segment: later.name, reason, rule: 'R2' })
  }
  const { opened, sizeBytes } = await readSealed(folder, name)
  const { session, forked } = later.header
  if (opened.header.session.id !== session.id && forked === undefined) {
    const reason = 'belongs to another session'
    throw corrupt(folder.id, { segment: name.name, reason, offset: 0, line: 1, rule: 'R2' })
  }
  if (sizeBytes < seal.bytes) {
    const reason = `was sealed at byte ${seal.bytes}, and has ${sizeBytes}`
    throw corrupt(folder.id, { segment: name.name, reason, offset: sizeBytes, rule: 'R1' })
  }
  return linkOf(name, { opened, sizeBytes, seal })
}

interface Found {
  readonly opened: OpenedHeader
  readonly sizeBytes: number
  readonly seal?: Predecessor
}

function linkOf({ name }: SegmentName, { opened, sizeBytes, seal }: Found): Link {
  const { header, start } = opened
  return { name, header, start, endBytes: seal?.bytes ?? sizeBytes, sizeBytes, ...(seal && { seal }) }
}
