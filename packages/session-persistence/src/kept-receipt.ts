import { SessionError } from '@tidemark/session-core'
import type { KeptReceipt } from './request.ts'
import type { Receipted } from './storage.ts'

/**
 * A receipt as storages are told of it.
 * @throws SessionError `INVALID_SEQ` where it says nothing of stored events.
 */
export function receiptedIn(receipt: KeptReceipt | undefined): Receipted | undefined {
  if (receipt === undefined) return undefined
  const { kind = 'stored', durableSeq: seq, digest } = receipt
  if (kind !== 'stored')
    throw new SessionError('INVALID_SEQ', `a receipt of kind ${kind} says nothing of stored events`)
  const isPlace = Number.isInteger(seq) && seq >= -1 && ['string', 'undefined'].includes(typeof digest)
  if (!isPlace) throw new SessionError('INVALID_SEQ', 'this is no receipt of a flush')
  return { seq, ...(digest !== undefined && { digest }) }
}
