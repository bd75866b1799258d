import { SessionError } from '@tidemark/session-core'
import { isCorrupt } from '../refused-read.ts'
import type { Receipted, Writer } from '../storage.ts'
import type { Chain, Link } from './chain.ts'
import { corrupt } from './failure.ts'
import type { Predecessor } from './header.ts'
import { openSegment, readPieces, type SessionFolder } from './segment-file.ts'
import { SegmentScan, type Damage, type Position, type ScannedBatch } from './segment-scan.ts'
import type { Wanted } from './seek.ts'

/** How far a log was read and found whole. */
export interface ReadTo extends Position {
  readonly segment: string
  /** The segment's own: another one may have its name by now. */
  readonly salt?: string
}

/** A batch of a log, and the segment it stands in. */
export interface LogBatch extends ScannedBatch {
  readonly epoch: number
  readonly writer: Writer
  readonly segment: string
  /** Whether anything proves that it was on stable storage. */
  readonly isDurable: boolean
}

/** Batches in their order, as many as one read of a file brought: their reader waits once, and not for each. */
export type LogBatches = readonly LogBatch[]

export interface LogTerms {
  readonly from?: ReadTo | undefined
  /** Where to begin when `from` does not say it: what is before is not read. Default: the log's beginning. */
  readonly start?: Wanted | undefined
  /** The chain as it is: what was added since it was found need not be read. */
  readonly found?: Chain | undefined
  /** The chain as it was a moment ago. */
  readonly known?: Chain | undefined
  /** The last seq wanted: what follows is not judged. */
  readonly through?: number | undefined
  /** What somebody was told is durable. */
  readonly receipt?: Receipted | undefined
}

interface ThroughTerms extends Pick<LogTerms, 'from' | 'receipt'> {
  readonly chain: Chain
  readonly through: number
}

/** Reads one chain up to `through`, whatever follows, or to its last whole batch. */
export async function readChainThrough(
  folder: SessionFolder,
  { chain, ...terms }: ThroughTerms,
  onBatch?: (batch: LogBatch) => void,
): Promise<ChainEnd> {
  const batches = readChain(folder, chain, terms)
  for (let step = await batches.next(); ; step = await batches.next()) {
    if (!step.done) {
      for (const batch of step.value) onBatch?.(batch)
      continue
    }
    if (step.value.last) onBatch?.(step.value.last)
    return step.value
  }
}

export interface ChainEnd {
  readonly end: ReadTo
  /** Read, and not given out yet. */
  readonly last: LogBatch | undefined
  /** The first bytes after that end which do not fit. */
  readonly damage?: Damage | undefined
}

interface Reading extends LogTerms {
  /** Contents that the log must hold. */
  readonly marks: readonly Receipted[]
  readonly held: { last?: LogBatch; damage?: Damage }
}

/** The batches of one chain, but for the last one, which comes with the end. */
export async function* readChain(
  folder: SessionFolder,
  { links, heads }: Chain,
  terms: LogTerms,
): AsyncGenerator<LogBatches, ChainEnd> {
  const { from, through = Infinity, receipt } = terms
  const index = from === undefined ? 0 : links.findIndex((link) => isAt(link, from))
  const held: Reading['held'] = {}
  const marks = receipt ? [receipt, ...heads] : heads
  let end: ReadTo | undefined
  for (const link of index === -1 ? [] : links.slice(index)) {
    const start = from && link.name === from.segment ? from : link.start
    end = yield* readLink(folder, link, { ...terms, marks, held, from: { ...start, segment: link.name } })
    if ((held.last?.end.tail.seq ?? -Infinity) >= through) break
  }
  if (end) return { end, last: held.last, damage: held.damage }
  throw dropped(folder)
}

function isAt({ name, header }: Link, { segment, salt = header.salt }: ReadTo): boolean {
  return name === segment && header.salt === salt
}

async function* readLink(
  folder: SessionFolder,
  link: Link,
  { from = { ...link.start, segment: link.name }, through = Infinity, marks, held }: Reading,
): AsyncGenerator<LogBatches, ReadTo> {
  if (link.endBytes < from.offset) throw dropped(folder)
  const { name: segment, header } = link
  const scan = new SegmentScan(header, from)
  let ready: LogBatch[] = []
  /** Whether the piece is read to its end. */
  const take = (piece: Buffer): boolean => {
    for (const found of scan.push(piece)) {
      if (found.kind === 'damage') {
        held.damage = found
        return false
      }
      if (held.last) ready.push(held.last) // another one was written after it
      held.last = { ...found, ...writtenBy(link, found), segment, isDurable: true }
      refuseOther(folder, marks, held.last)
      if (found.end.tail.seq >= through) return false
    }
    return true
  }
  let isWhole = true
  try {
    for await (const piece of piecesOf(folder, link, from.offset)) {
      isWhole = take(piece)
      if (ready.length > 0) yield ready
      ready = []
      if (!isWhole) break
    }
  } catch (error) {
    if (ready.length > 0) yield ready // what comes before what is refused
    throw withIntact(error, scan.end.tail.seq)
  }
  const { damage } = held
  const end = { ...scan.end, segment, salt: header.salt }
  // In the newest segment it is judged as what follows the last whole batch.
  if (damage && link.seal)
    throw corrupt(folder.id, { ...damage, segment, intactThrough: end.tail.seq, rule: 'R1' })
  if (link.seal && isWhole) refuseOtherEnd(folder, link.seal, end)
  return end
}

/** A batch that was written again tells who appended it. */
function writtenBy({ start, header }: Link, batch: ScannedBatch): Pick<LogBatch, 'epoch' | 'writer'> {
  const { epoch, writer } = batch.start.offset === start.offset ? (header.carried ?? header) : header
  return { epoch, writer }
}

async function* piecesOf(
  folder: SessionFolder,
  { name, endBytes }: Link,
  from: number,
): AsyncGenerator<Buffer, void> {
  if (from === endBytes) return
  const { file } = await openSegment(folder, name)
  try {
    yield* readPieces(file, from, endBytes)
  } finally {
    await file.close()
  }
}

/** What a pack refuses does not know how far the log was read. */
function withIntact(error: unknown, intactThrough: number): unknown {
  const isBare = isCorrupt(error) && error.details.intactThrough === undefined
  if (!isBare) return error
  return new SessionError(error.code, error.message, { ...error.details, intactThrough, cause: error })
}

function refuseOtherEnd({ id }: SessionFolder, seal: Predecessor, end: ReadTo): void {
  const { seq, digest } = end.tail
  if (end.offset === seal.bytes && seq === seal.seq && digest === seal.digest) return
  const reason = `was sealed at byte ${seal.bytes}, seq ${seal.seq}, and does not end there`
  throw corrupt(id, {
    segment: end.segment,
    reason,
    offset: end.offset,
    line: end.lines + 1,
    intactThrough: seq,
    rule: 'R2',
  })
}

/** Receipts and heads name the whole content up to their seq, and that a batch ends there. */
function refuseOther(
  { id }: SessionFolder,
  marks: readonly Receipted[],
  { segment, start, end }: LogBatch,
): void {
  const { seq: endSeq, digest } = end.tail
  for (const mark of marks) {
    if (mark.digest === undefined || mark.seq <= start.tail.seq || mark.seq > endSeq) continue
    if (mark.seq === endSeq && mark.digest === digest) continue
    const reason = `holds another history up to seq ${mark.seq} than a receipt or head says`
    throw corrupt(id, { segment, reason, offset: start.offset, line: start.lines + 1, rule: 'R3' })
  }
}

/** A batch that was read before its writer was fenced, and that the next writer did not see. */
export function dropped({ id }: SessionFolder): SessionError {
  return new SessionError('TAIL_MOVED', `${id}: somebody took over, and dropped what was read`, {
    sessionId: id,
  })
}
