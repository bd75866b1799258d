import { assert } from '@tidemark/session-core'
import type { Receipted, ReadTerms, Rest, StoredBatch } from '../storage.ts'
import { dropped, type LogBatch } from './chain-reader.ts'
import { isUnchanged, type Chain } from './chain.ts'
import { failure } from './failure.ts'
import { refuseOther } from './held.ts'
import { isLiving } from './living.ts'
import { readLog, type LogEnd } from './log-reader.ts'
import type { SessionFolder } from './segment-file.ts'

export interface StoredBatchesTerms extends ReadTerms {
  readonly found: Chain
  readonly secret: string
  /** Told once what follows the last batch, if anything does. */
  readonly onRest: (rest: Rest) => void
}

/** A log as a storage gives it out. */
export async function* storedBatches(
  folder: SessionFolder,
  { from = 0, through, receipt, found, secret, onRest }: StoredBatchesTerms,
): AsyncGenerator<StoredBatch, void> {
  if (receipt && through !== undefined && from > through && receipt.seq <= through) {
    await proveOnly(folder, found, receipt)
    return
  }
  const start = from > 0 ? ({ kind: 'seq', seq: from } as const) : undefined
  const log = readLog(folder, { through, receipt, found, start })
  try {
    let step = await log.next()
    const isEmpty = step.done
    for (; !step.done; step = await log.next()) {
      for (const batch of step.value) yield give(batch, { from, through })
    }
    if (step.value === undefined) return
    if (isEmpty) yield nothing(step.value)
    const rest = await restOf(folder, step.value, secret)
    if (rest) onRest(rest)
  } catch (error) {
    throw failure('reading a session', error)
  } finally {
    await log.return(undefined)
  }
}

/** Nothing is wanted but to know whether the log holds something. */
async function proveOnly(folder: SessionFolder, found: Chain, receipt: Receipted): Promise<void> {
  try {
    await refuseOther(folder, found, receipt)
  } catch (error) {
    if (await isUnchanged(folder, found)) throw failure('reading a session', error)
    throw dropped(folder)
  }
}

function give(
  { epoch, writer, events, start, end, isDurable }: LogBatch,
  { from, through = Infinity }: { from: number; through: number | undefined },
): StoredBatch {
  const isWhole = (events[0]?.seq ?? from) >= from && end.tail.seq <= through
  const wanted = isWhole ? events : events.filter(({ seq }) => seq >= from && seq <= through)
  const sizeBytes = end.offset - start.offset
  return { epoch, writer, events: wanted, tail: end.tail, isDurable, sizeBytes }
}

/** A session that has a header and no batch is there, and empty. */
function nothing({ chain, tail }: LogEnd): StoredBatch {
  const newest = chain.links.at(-1)
  assert(newest, 'a chain has a newest segment')
  const { epoch, writer } = newest.header
  return { epoch, writer, events: [], tail, isDurable: true }
}

/** What follows a log, and whether somebody may be writing it at this moment. */
export async function restOf(
  folder: SessionFolder,
  { torn, chain }: LogEnd,
  secret: string,
): Promise<Rest | undefined> {
  if (torn === undefined) return undefined
  const { segment, offset, sizeBytes } = torn
  const newest = chain.links.at(-1)
  const kind = (await isLiving(folder, { secret, socket: newest?.header.socket })) ? 'pending' : 'torn'
  return { kind, segment, offset, sizeBytes }
}
