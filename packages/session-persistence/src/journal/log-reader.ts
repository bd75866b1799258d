import { SessionError, assert, isSessionError } from '@tidemark/session-core'
import type { Receipted, Rest } from '../storage.ts'
import {
  dropped,
  readChain,
  type ChainEnd,
  type LogBatch,
  type LogBatches,
  type LogTerms,
  type ReadTo,
} from './chain-reader.ts'
import { emptyDigest, isUnchanged, type Chain, type Link } from './chain.ts'
import { corrupt } from './failure.ts'
import { proofOf, rotationOf } from './head.ts'
import { firstToOf, type SegmentHeader } from './header.ts'
import { refuseOtherBeginning, refuseUnheld } from './held.ts'
import { findChainThrough } from './intact.ts'
import {
  judgeEnd,
  type Durable,
  type EndFacts,
  type EndVerdict,
  type Proof,
  type Tail,
  type TornClass,
} from './recover.ts'
import { seek } from './seek.ts'
import { isMissing, openSegment, type SessionFolder } from './segment-file.ts'
import { proofsOfSnapshots } from './snapshot-proof.ts'
import { noTail, readTail } from './tail.ts'

/** Where a log ended when it was read. */
export interface LogEnd extends ReadTo {
  readonly chain: Chain
  readonly durable: Durable
  /** The last batch, when it was among those read. */
  readonly last?: LogBatch
  /** What follows it. */
  readonly torn?: Torn
}

/** The end of a write that nobody was told of. */
export interface Torn extends Omit<Rest, 'kind'> {
  readonly class: TornClass
}

type Refused = EndVerdict & { kind: 'refused' }
type Judged = Exclude<EndVerdict, Refused>

/** How often an end that is refused is looked at again: beside a living writer it may be whole soon. */
const looksMax = 2
const roundsMax = 64
const pauseMs = 5

/**
 * The batches of a log on to its end, which is what the generator returns; without one when it stopped at `through`.
 * The last batch is given out once the folder was listed again: whoever takes over may drop it.
 *
 * @throws SessionError `NOT_FOUND`, `UNSUPPORTED_FORMAT`, `CORRUPT` when the recovery rule refuses, and `TAIL_MOVED`
 * when what was read is not in the log any more.
 */
export async function* readLog(
  folder: SessionFolder,
  terms: LogTerms = {},
): AsyncGenerator<LogBatches, LogEnd | undefined> {
  const so: SoFar = { isGiven: false }
  try {
    return yield* readRounds(folder, terms, so)
  } catch (cause) {
    const error = await movedOr(folder, cause, so)
    const isMoved = isSessionError(error) && error.code === 'TAIL_MOVED'
    if (!isMoved || so.isGiven || terms.found === undefined) throw error
    return yield* readLog(folder, { ...terms, found: undefined }) // nobody has seen what was there before
  }
}

/** What is gone since the folder was listed was no part of the log, or stands elsewhere now. */
async function movedOr(folder: SessionFolder, error: unknown, { chain }: SoFar): Promise<unknown> {
  if (!isMissing(error) || !chain || (await isUnchanged(folder, chain))) return error
  folder.memory.forget()
  return dropped(folder)
}

/** How far a read has come. */
interface SoFar {
  chain?: Chain
  isGiven: boolean
}

async function* givenOut(batches: ReturnType<typeof readChain>, so: SoFar): ReturnType<typeof readChain> {
  try {
    for (let step = await batches.next(); ; step = await batches.next()) {
      if (step.done) return step.value
      so.isGiven = true
      yield step.value
    }
  } finally {
    await batches.return(undefined as never) // closes what is open when a reader has enough
  }
}

async function* readRounds(
  folder: SessionFolder,
  terms: LogTerms,
  so: SoFar,
): AsyncGenerator<LogBatches, LogEnd | undefined> {
  let readTo = terms.from
  let chain = terms.known
  let looks = 0
  for (let rounds = 1; rounds <= roundsMax; rounds++) {
    // A claim may have got on since.
    const isFound = rounds === 1 && terms.found?.claims.size === 0
    chain = isFound ? terms.found : await findChainThrough(folder, { known: chain, through: terms.through })
    so.chain = chain
    if (rounds === 1) readTo ??= await begin(folder, chain, terms)
    const { last, end, damage } = yield* givenOut(readChain(folder, chain, { ...terms, from: readTo }), so)
    const isThrough = last !== undefined && last.end.tail.seq >= (terms.through ?? Infinity)
    const verdict = isThrough ? undefined : await judge(folder, { chain, end, last, receipt: terms.receipt })
    if (await isUnchanged(folder, chain)) {
      if (verdict?.kind !== 'refused') {
        const isDurable =
          last !== undefined && verdict !== undefined && verdict.durable.seq >= last.end.tail.seq
        if (last) yield [{ ...last, isDurable }]
        return verdict && endOf(chain, end, { verdict, last })
      }
      looks += 1
      if (looks === looksMax) throw refusal(folder, { end, damage, last }, verdict)
    }
    readTo = last ? { ...last.start, segment: last.segment } : end
    await folder.port.pause(pauseMs * looks)
  }
  throw new SessionError('STORAGE_FAILED', `${folder.id}: others wrote ${roundsMax} times while it was read`)
}

/** Where a read begins. What somebody was told of the log before is looked for there. */
async function begin(
  folder: SessionFolder,
  chain: Chain,
  { start, receipt }: LogTerms,
): Promise<ReadTo | undefined> {
  if (receipt) refuseOtherBeginning(folder, chain, receipt)
  const found = start && (await seek(folder, chain, start))
  if (found === undefined) return undefined
  for (const mark of [...chain.heads, ...(receipt ? [receipt] : [])]) {
    if (mark.seq > found.tail.seq || mark.seq < 0) continue
    await refuseUnheld(folder, chain, mark)
  }
  return found
}

/** Reads a log to its end, for nothing but that. */
export async function readToEnd(
  folder: SessionFolder,
  terms: Omit<LogTerms, 'through'> = {},
  onBatch?: (batch: LogBatch) => void,
): Promise<LogEnd> {
  const log = readLog(folder, terms)
  try {
    for (let step = await log.next(); ; step = await log.next()) {
      if (step.done && step.value) return step.value
      if (!step.done) for (const batch of step.value) onBatch?.(batch)
    }
  } finally {
    await log.return(undefined) // closes what is open when `onBatch` throws
  }
}

interface Read extends ChainEnd {
  readonly chain: Chain
  readonly receipt: Receipted | undefined
}

async function judge(folder: SessionFolder, { chain, end, last, receipt }: Read): Promise<EndVerdict> {
  const { links, heads, snapshots, claimedSeq } = chain
  const newest = links.at(-1)
  assert(newest, 'a chain has a newest segment')
  const { epoch, rotation, firstSeq } = newest.header
  const proofs: Proof[] = heads.map(proofOf)
  proofs.push({
    source: 'commit',
    epoch,
    seq: Math.max(firstSeq - 1, claimedSeq, last?.commit.durable ?? -1),
  })
  const ahead = snapshots.filter(({ seq }) => seq > end.tail.seq)
  if (ahead.length > 0) proofs.push(...(await proofsOfSnapshots(folder, ahead, emptyDigest(chain))))
  if (receipt) proofs.push({ source: 'receipt', seq: receipt.seq })
  const isFirst = end.offset === newest.start.offset
  const first = isFirst && { firstTo: firstToOf(newest.header) }
  return judgeEnd({
    end: { seq: end.tail.seq, epoch, rotation, ...first, ...(last && { lastFrom: last.start.tail.seq + 1 }) },
    tail: await tailOf(folder, newest, end.offset),
    proofs,
    seals: new Map(links.flatMap(({ header, seal }) => (seal ? [[header.epoch, seal.seq]] : []))),
    ...strictOf(heads, newest.header),
  })
}

/** What follows the end of a log in its newest segment. */
async function tailOf(folder: SessionFolder, { name, header, endBytes }: Link, from: number): Promise<Tail> {
  if (from === endBytes) return noTail
  const { file } = await openSegment(folder, name)
  try {
    return await readTail(file, { from, to: endBytes }, header)
  } finally {
    await file.close()
  }
}

/** A strict head of an earlier rotation says nothing of what was acknowledged in this one. */
function strictOf(heads: Chain['heads'], { epoch, rotation }: SegmentHeader): Pick<EndFacts, 'strictSeq'> {
  const head = heads.find((each) => each.epoch === epoch && rotationOf(each) === rotation)
  return head?.strict ? { strictSeq: head.seq } : {}
}

function endOf(
  chain: Chain,
  end: ReadTo,
  { verdict, last }: { verdict: Judged; last: LogBatch | undefined },
): LogEnd {
  const { durable } = verdict
  const sizeBytes = (chain.links.at(-1)?.endBytes ?? 0) - end.offset
  const torn = verdict.kind === 'torn' && {
    torn: { class: verdict.class, segment: end.segment, offset: end.offset, sizeBytes },
  }
  return { ...end, chain, durable, ...(last && { last }), ...torn }
}

function refusal({ id }: SessionFolder, { end, damage }: ChainEnd, verdict: Refused): SessionError {
  const { segment, tail } = end
  const { rule, reason } = verdict
  const at = { offset: damage?.offset ?? end.offset, line: damage?.line ?? end.lines + 1 }
  const what = damage && damage.reason !== reason ? `${damage.reason}, and ${reason}` : reason
  return corrupt(id, { segment, reason: what, ...at, intactThrough: tail.seq, rule })
}
