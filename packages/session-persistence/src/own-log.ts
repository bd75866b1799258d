import type { SessionError } from '@tidemark/session-core'
import { receiptOf } from './kept-receipt.ts'
import type { Receipted, SessionStorage, Tail } from './storage.ts'
import { asUnknown } from './stored-session.ts'
import { isCorrupt } from './refused-read.ts'

/**
 * Whether what is stored under an id is the log that somebody has read or written before: an id may be removed, and be
 * another session's by now. Of the places where that log ended one is enough; the first ones are tried first. Only what
 * stands there is read, so that it costs the same in a log of any length. Resolves with the one that it holds.
 *
 * @throws SessionError `CORRUPT` when it is another log, `NOT_FOUND`, `TAIL_MOVED`; what the storage fails with.
 */
export async function refuseOtherLog(
  id: string,
  storage: SessionStorage,
  tails: readonly Tail[],
): Promise<Receipted | undefined> {
  let refusal: SessionError | undefined
  for (const tail of tails) {
    const receipt = receiptOf(tail)
    try {
      await refuseUnheld(id, storage, receipt)
      return receipt
    } catch (error) {
      // Damage there says nothing of the rest of the log.
      if (!isCorrupt(error)) throw error
      refusal ??= error
    }
  }
  if (refusal !== undefined) throw refusal
  return undefined
}

/** Reads no more than it takes. @throws SessionError `CORRUPT` unless the log holds what the receipt says. */
export async function refuseUnheld(id: string, storage: SessionStorage, receipt: Receipted): Promise<void> {
  const { seq } = receipt
  const isEmpty = seq < 0
  const terms = isEmpty ? { from: Number.MAX_SAFE_INTEGER } : { from: seq + 1, through: seq }
  const { batches } = await asUnknown(id, () => storage.read(id, { ...terms, receipt }))
  for await (const _ of batches);
}
