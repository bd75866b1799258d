import type { Tail } from '../storage.ts'
import type { ReadTo } from './chain-reader.ts'
import type { Chain, Link } from './chain.ts'
import { commitSizeBytesMax, commitStart, findCommitBefore, parseCommit, type Commit } from './commit.ts'
import type { PortFile } from './port.ts'
import { openSegment, readSpan, type SessionFolder } from './segment-file.ts'
import { batchSizeBytesMax } from './size.ts'

/** A span this short is read through rather than halved again. */
const spanSizeBytesMax = 131_072

/** Places where a seq is looked for by how much room events take. */
const guessesMax = 12

/** Bytes that are looked through at once for a commit line. */
const pieceSizeBytes = 65_536

/** Where reading begins. Nobody knows how many lines are before it. */
type Boundary = Pick<ReadTo, 'offset' | 'tail'>

/** Where to begin a read: at the end of a batch from which on it holds `seq`, or at least so many bytes. */
export type Wanted = { readonly kind: 'seq'; readonly seq: number } | WantedEnd

interface WantedEnd {
  readonly kind: 'end'
  readonly sizeBytes: number
  /** With the events that tell of recoveries which the newest segment names. */
  readonly isTelling?: true
}

/**
 * The end of a batch to read on from, close before what is wanted, found without reading what is before it: every
 * commit line proves itself, and names the log's whole content up to it. At least the log's last batch follows.
 */
export async function seek(
  folder: SessionFolder,
  { links }: Chain,
  wanted: Wanted,
): Promise<ReadTo | undefined> {
  return wanted.kind === 'seq' ? seekSeq(folder, links, wanted.seq) : seekEnd(folder, links, wanted)
}

/** Where a batch ends with a seq, as its commit says: its events are not read. `undefined` where none ends there. */
export async function findEnd(
  folder: SessionFolder,
  { links }: Chain,
  seq: number,
): Promise<ReadTo | undefined> {
  const link = links.findLast(({ header }) => header.firstSeq <= seq)
  if (link === undefined) return undefined
  const found = await seekIn(folder, link, async (file) => {
    const { endBytes, seal } = link
    if (seal?.seq === seq) return { offset: endBytes, tail: seal }
    // Mostly it is the log's end that is asked for.
    const lastFrom = Math.max(0, link.start.offset - 1, endBytes - commitSizeBytesMax - 1)
    const last = await nextBoundary(file, link, { from: lastFrom, to: endBytes, seq })
    if (last) return last
    const high = seal ? { offset: endBytes, tail: seal } : await backFrom(file, link, 0)
    const low = high.tail.seq < seq ? high : await approach(file, link, { seq, high })
    return (await nextBoundary(file, link, { from: Math.max(0, low.offset - 1), to: endBytes, seq })) ?? low
  })
  return found.tail.seq === seq ? found : undefined
}

async function seekSeq(
  folder: SessionFolder,
  links: readonly Link[],
  seq: number,
): Promise<ReadTo | undefined> {
  const link = links.findLast(({ header }) => header.firstSeq <= seq)
  if (link === undefined) return undefined
  return seekIn(folder, link, async (file) => {
    const high = link.seal ? { offset: link.endBytes, tail: link.seal } : await backFrom(file, link, 0)
    return high.tail.seq < seq ? high : approach(file, link, { seq, high })
  })
}

async function seekEnd(
  folder: SessionFolder,
  links: readonly Link[],
  { sizeBytes, isTelling }: Omit<WantedEnd, 'kind'>,
): Promise<ReadTo | undefined> {
  const newest = links.at(-1)
  // The segment that names recoveries tells of them too.
  if (newest?.header.recovered && isTelling) return { segment: newest.name, ...newest.start }
  let leftBytes = sizeBytes
  for (const link of [...links].reverse()) {
    const linkSizeBytes = link.endBytes - link.start.offset
    if (linkSizeBytes > leftBytes) return seekIn(folder, link, (file) => backFrom(file, link, leftBytes))
    leftBytes -= linkSizeBytes
  }
  return undefined
}

async function seekIn(
  folder: SessionFolder,
  link: Link,
  find: (file: PortFile) => Promise<Boundary>,
): Promise<ReadTo> {
  const { file } = await openSegment(folder, link.name)
  try {
    const { offset, tail } = await find(file)
    const lines = offset === link.start.offset ? link.start.lines : NaN
    return { segment: link.name, offset, tail, lines }
  } finally {
    await file.close()
  }
}

/**
 * A boundary shortly before the batch of a seq. Events take about the same room all over a segment, so it is looked for
 * where it should be. What was missed is looked for on the other side, further off each time; a segment in which room
 * says nothing is halved in the end.
 */
async function approach(
  file: PortFile,
  link: Link,
  { seq, high: end }: { seq: number; high: Boundary },
): Promise<Boundary> {
  let low: Boundary = link.start
  let high = end
  let offBytes = -spanSizeBytesMax / 4
  for (let steps = 0; high.offset - low.offset > spanSizeBytesMax; steps++) {
    const sizeBytes = high.offset - low.offset
    const wayBytes = (sizeBytes * (seq - low.tail.seq)) / Math.max(1, high.tail.seq - low.tail.seq)
    if (wayBytes < spanSizeBytesMax / 2) return low
    const stepBytes = Math.min(wayBytes, sizeBytes) + offBytes
    const isWithin = steps < guessesMax && stepBytes > 0 && stepBytes < sizeBytes
    const from = low.offset + Math.floor(isWithin ? stepBytes : sizeBytes / 2)
    const found = await nextBoundary(file, link, { from, to: high.offset })
    const isShort = found !== undefined && found.tail.seq < seq
    if (isShort) low = found
    else high = { offset: from, tail: found?.tail ?? high.tail }
    offBytes = Math.abs(offBytes) * (isShort ? 2 : -2)
  }
  return low
}

/** The last boundary that is so many bytes before the end, with at least one more after it. */
async function backFrom(file: PortFile, link: Link, sizeBytes: number): Promise<Boundary> {
  const last = await lastBoundary(file, link, link.endBytes)
  const to = Math.min(last.offset - 1, link.endBytes - sizeBytes)
  return lastBoundary(file, link, to)
}

/** The end of the last commit line that ends up to an offset and proves itself; or where the batches begin. */
async function lastBoundary(file: PortFile, { header, start }: Link, to: number): Promise<Boundary> {
  // With the line end before it.
  const first = start.offset - 1
  for (let end = to; end > start.offset; end -= pieceSizeBytes) {
    const from = Math.max(first, end - pieceSizeBytes)
    const bytes = await readSpan(file, from, Math.min(to, end + commitSizeBytesMax))
    for (let at = bytes.lastIndexOf(commitStart); at !== -1;) {
      const lf = bytes.indexOf(10, at + 1)
      const commit = lf === -1 ? undefined : parseCommit(bytes.toString('utf8', at + 1, lf), header.salt)
      if (commit?.epoch === header.epoch) return { offset: from + lf + 1, tail: tailOf(commit) }
      at = at === 0 ? -1 : bytes.lastIndexOf(commitStart, at - 1)
    }
  }
  return start
}

/** The end of the first commit line that begins in a span and proves itself; `seq`: of the first one with that. */
async function nextBoundary(
  file: PortFile,
  { header }: Link,
  { from, to, seq }: { from: number; to: number; seq?: number },
): Promise<Boundary | undefined> {
  let rest: Buffer = Buffer.alloc(0)
  let offset = from
  const end = Math.min(to, from + spanSizeBytesMax + batchSizeBytesMax + commitSizeBytesMax)
  for (let next = from; next < end; next += pieceSizeBytes) {
    const piece = await readSpan(file, next, Math.min(end, next + pieceSizeBytes))
    const bytes = rest.length === 0 ? piece : Buffer.concat([rest, piece])
    for (let at = bytes.indexOf(commitStart); at !== -1; at = bytes.indexOf(commitStart, at + 1)) {
      const lf = bytes.indexOf(10, at + 1)
      if (lf === -1) break
      const line = bytes.toString('utf8', at + 1, lf)
      if (seq !== undefined && !line.includes(`"to":${seq},`)) continue
      const commit = parseCommit(line, header.salt)
      if (commit && commit.epoch === header.epoch) return { offset: offset + lf + 1, tail: tailOf(commit) }
    }
    const keepFrom = Math.max(0, bytes.length - commitSizeBytesMax - commitStart.length)
    offset += keepFrom
    rest = Buffer.from(bytes.subarray(keepFrom))
  }
  return undefined
}

/** What the commit line that ends at an offset says; `undefined` when none does that proves itself. */
export async function commitEndingAt(
  folder: SessionFolder,
  link: Link,
  offset: number,
): Promise<Tail | undefined> {
  if (offset > link.endBytes || offset < link.start.offset) return undefined
  if (offset === link.start.offset) return link.start.tail
  const { file } = await openSegment(folder, link.name)
  try {
    const span = { from: link.start.offset - 1, to: offset }
    const commit = await findCommitBefore(file, span, link.header.salt)
    return commit && tailOf(commit)
  } finally {
    await file.close()
  }
}

function tailOf({ to: seq, digest }: Commit): Tail {
  return { seq, digest }
}
