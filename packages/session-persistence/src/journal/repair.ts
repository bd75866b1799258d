import { SessionError, type SessionRecovered } from '@tidemark/session-core'
import { isCorrupt } from '../refused-read.ts'
import { RecentBatches } from '../acceptance.ts'
import { readChainThrough, type ReadTo } from './chain-reader.ts'
import type { Chain } from './chain.ts'
import { listNames } from './listing.ts'
import { claimSession, note, type ClaimTerms, type Learn, type Learned } from './claim.ts'
import { readHead } from './head.ts'
import { boundedChains } from './intact.ts'
import { LogActivity } from './log-activity.ts'
import { readToEnd, type LogEnd } from './log-reader.ts'
import { PackedFile } from './pack-file.ts'
import { openSegment, type SessionFolder } from './segment-file.ts'
import { epochsOfHeads } from './segment-name.ts'

/** Heads that are asked what was durable, newest first. */
const headsMax = 16

/** What a record says of a loss that an operator accepted. */
const decided = { reason: 'accepted-loss', evidence: 'operator' } as const

/**
 * Goes on with a damaged log as if it ended after `seq`. What follows is copied aside, sealed off by a new epoch, and
 * recorded; no byte is erased.
 *
 * @throws SessionError `INVALID_SEQ` when the log is not damaged, or no whole batch ends there; what a claim does.
 */
export async function repairSession(
  folder: SessionFolder,
  seq: number,
  terms: ClaimTerms,
): Promise<SessionRecovered> {
  await refuseSound(folder)
  const lease = await claimSession(folder, terms, learnThrough(seq))
  await lease.release()
  const record = lease.recovered.at(-1)
  if (record) return record
  throw invalid(folder, `was repaired by somebody else meanwhile`)
}

/** A log that can be read needs no repair, and an operator's slip must not cost what is in it. */
async function refuseSound(folder: SessionFolder): Promise<void> {
  let end: LogEnd
  try {
    end = await readToEnd(folder)
  } catch (error) {
    if (!isCorrupt(error)) throw error
    return // that is what a repair is for
  }
  throw invalid(folder, `is not damaged: it is whole up to seq ${end.tail.seq}`)
}

function learnThrough(seq: number): Learn {
  return async (folder) => {
    for await (const { chain, through } of boundedChains(folder)) {
      if (seq > through) continue
      const learned = await learnIn(folder, { chain, seq })
      if (learned) return learned
    }
    throw invalid(folder, `has no whole batch that ends at seq ${seq}`)
  }
}

async function learnIn(
  folder: SessionFolder,
  { chain, seq }: { chain: Chain; seq: number },
): Promise<Learned | undefined> {
  const recent = new RecentBatches()
  const told = new Set<string>()
  const activity = new LogActivity()
  try {
    const { end, last } = await readChainThrough(folder, { chain, through: seq }, (batch) =>
      note(batch, { recent, told, activity }),
    )
    if (end.tail.seq !== seq) return undefined
    const links = chain.links.slice(0, chain.links.findIndex(({ name }) => name === end.segment) + 1)
    const { segment, offset } = end
    const span = { segment, offset, sizeBytes: (await readableSize(folder, end)) - offset }
    const torn = { ...span, class: 'strict-head' } as const
    const durable = { seq: Math.max(seq, await highestHead(folder)), by: 'receipt' } as const
    return {
      end: { ...end, chain: { ...chain, links }, durable, torn, ...(last && { last }) },
      recent,
      told,
      activity,
      decided,
    }
  } catch (error) {
    if (!isCorrupt(error)) throw error
    return undefined // damaged before that seq
  }
}

/** What a damaged pack holds of a segment cannot be copied aside; it stays where it is. */
async function readableSize(folder: SessionFolder, { segment, offset }: ReadTo): Promise<number> {
  const { file, stat } = await openSegment(folder, segment)
  try {
    return file instanceof PackedFile ? await file.readableTo(offset) : stat.sizeBytes
  } finally {
    await file.close()
  }
}

/** What the heads say was durable: how much is lost is part of the record. */
async function highestHead(folder: SessionFolder): Promise<number> {
  let seq = -1
  for (const epoch of epochsOfHeads(await listNames(folder)).slice(0, headsMax))
    seq = Math.max(seq, (await readHead(folder, epoch))?.seq ?? -1)
  return seq
}

function invalid({ id }: SessionFolder, what: string): SessionError {
  return new SessionError('INVALID_SEQ', `${id}: its log ${what}; nothing was changed`, { sessionId: id })
}
