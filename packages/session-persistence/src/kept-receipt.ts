import { SessionError } from '@tidemark/session-core'
import type { Cursor, KeptReceipt } from './request.ts'
import type { Receipted, Tail } from './storage.ts'

/**
 * A receipt or a cursor, as storages are told of it.
 * @throws SessionError `INVALID_SEQ` where it says nothing of stored events.
 */
export function receiptedIn(receipt: KeptReceipt | Cursor | undefined): Receipted | undefined {
  if (receipt === undefined) return undefined
  const { kind = 'stored', durableSeq, seq = durableSeq, digest } = receipt as Partial<KeptReceipt & Cursor>
  if (kind !== 'stored')
    throw new SessionError('INVALID_SEQ', `a receipt of kind ${kind} says nothing of stored events`)
  const isSeq = seq !== undefined && Number.isInteger(seq) && seq >= -1
  if (!isSeq || !['string', 'undefined'].includes(typeof digest))
    throw new SessionError('INVALID_SEQ', 'this is no receipt of a flush, and no cursor')
  return { seq, ...(digest && { digest }) }
}

/** Somebody else's storage may know no digests, and a cursor that was given without one has an empty one. */
export function receiptOf({ seq, digest }: Tail): Receipted {
  return { seq, ...(typeof (digest as unknown) === 'string' && digest !== '' && { digest }) }
}
