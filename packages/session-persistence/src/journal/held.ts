import type { Receipted } from '../storage.ts'
import { readChainThrough } from './chain-reader.ts'
import type { Chain } from './chain.ts'
import { corrupt } from './failure.ts'
import { findEnd, seek } from './seek.ts'
import type { SessionFolder } from './segment-file.ts'

/**
 * Reads what stands at a seq that somebody was told of, and nothing before it.
 * @throws SessionError `CORRUPT` unless the log holds it.
 */
export async function refuseUnheld(folder: SessionFolder, chain: Chain, receipt: Receipted): Promise<void> {
  const { seq } = receipt
  refuseOtherBeginning(folder, chain, receipt)
  if (seq < 0) return
  const from = await seek(folder, chain, { kind: 'seq', seq })
  const { end } = await readChainThrough(folder, { chain, from, through: seq, receipt })
  const { segment, offset, tail } = end
  if (tail.seq >= seq) return
  const reason = `ends at seq ${tail.seq}, and a receipt proves seq ${seq}`
  throw corrupt(folder.id, { segment, reason, offset, intactThrough: tail.seq, rule: 'R3' })
}

/**
 * The same for who wants to know which log it is, and nothing of the batch: what a commit says of itself is enough. Where
 * it says something else, the batch is read for the reason.
 */
export async function refuseOther(folder: SessionFolder, chain: Chain, receipt: Receipted): Promise<void> {
  const found = await findEnd(folder, chain, receipt.seq)
  const isHeld = found && (receipt.digest === undefined || receipt.digest === found.tail.digest)
  if (!isHeld) await refuseUnheld(folder, chain, receipt)
}

/** What names no event names the log's beginning, which no two logs share unless one was forked from the other. */
export function refuseOtherBeginning(
  { id }: SessionFolder,
  { links }: Chain,
  { seq, digest }: Receipted,
): void {
  const [first] = links
  if (seq >= 0 || digest === undefined || digest === first?.start.tail.digest) return
  const reason = 'begins another log than a receipt says'
  throw corrupt(id, { segment: first?.name ?? '.', reason, offset: 0, line: 1, rule: 'R3' })
}
