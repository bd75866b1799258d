import { SessionError, assert } from '@tidemark/session-core'
import type { Receipted, Rest } from '../storage.ts'
import { readChain, type ChainEnd, type LogBatch, type LogTerms, type ReadTo } from './chain-reader.ts'
import { findChain, isUnchanged, type Chain } from './chain.ts'
import { corrupt } from './failure.ts'
import {
  judgeEnd,
  type Durable,
  type EndFacts,
  type EndVerdict,
  type Proof,
  type TornClass,
} from './recover.ts'
import { openSegment, type SessionFolder } from './segment-file.ts'
import { readTail } from './tail.ts'

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
): AsyncGenerator<LogBatch, LogEnd | undefined> {
  let readTo = terms.from
  let chain = terms.known
  let looks = 0
  for (let rounds = 1; rounds <= roundsMax; rounds++) {
    chain = await findChain(folder, chain)
    const { last, end, damage } = yield* readChain(folder, chain, { ...terms, from: readTo })
    const isThrough = last !== undefined && last.end.tail.seq >= (terms.through ?? Infinity)
    const verdict = isThrough ? undefined : await judge(folder, { chain, end, last, receipt: terms.receipt })
    if (await isUnchanged(folder, chain)) {
      if (verdict?.kind !== 'refused') {
        const isDurable =
          last !== undefined && verdict !== undefined && verdict.durable.seq >= last.end.tail.seq
        if (last) yield { ...last, isDurable }
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

/** Reads a log to its end, for nothing but that. */
export async function readToEnd(
  folder: SessionFolder,
  terms: Omit<LogTerms, 'through'> = {},
  onBatch?: (batch: LogBatch) => void,
): Promise<LogEnd> {
  const log = readLog(folder, terms)
  try {
    for (let step = await log.next(); ; step = await log.next()) {
      if (!step.done) onBatch?.(step.value)
      else if (step.value) return step.value
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
  const { links, heads, claimedSeq } = chain
  const newest = links.at(-1)
  assert(newest, 'a chain has a newest segment')
  const { epoch, firstSeq, salt, carried } = newest.header
  const proofs: Proof[] = heads.map(({ epoch: of, seq }) => ({ source: 'head', epoch: of, seq }))
  proofs.push({
    source: 'commit',
    epoch,
    seq: Math.max(firstSeq - 1, claimedSeq, last?.commit.durable ?? -1),
  })
  if (receipt) proofs.push({ source: 'receipt', seq: receipt.seq })
  const { file } = await openSegment(folder, newest.name)
  try {
    const isFirst = end.offset === newest.start.offset
    return judgeEnd({
      end: { seq: end.tail.seq, epoch, ...(isFirst && { firstTo: carried?.to ?? firstSeq - 1 }) },
      tail: await readTail(file, { from: end.offset, to: newest.endBytes }, { salt, epoch }),
      proofs,
      seals: new Map(links.flatMap(({ header, seal }) => (seal ? [[header.epoch, seal.seq]] : []))),
      ...strictOf(heads, epoch),
    })
  } finally {
    await file.close()
  }
}

function strictOf(heads: Chain['heads'], epoch: number): Pick<EndFacts, 'strictSeq'> {
  const head = heads.find((each) => each.epoch === epoch)
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
