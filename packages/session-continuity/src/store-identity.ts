import type { ContinuityReason } from './refusal.ts'

/** Which store this is, as the store itself and the witness say. */
export interface StoreIdentity {
  readonly storeId: string | undefined
  readonly witnessedId: string | undefined
  /** What says which store this is, is there and does not prove itself: the id that it bore is not known then. */
  readonly isDamaged?: boolean
  /** Where it is said, values lie about with numbers that nobody counted to: they are not gone by. */
  readonly hasStrays?: boolean
  /** Whether the store holds no scope at all. */
  readonly isEmpty: boolean
}

/** `new`: nothing is there, or a crash cut its making short. */
export type StoreVerdict =
  | { readonly kind: 'known'; readonly storeId: string }
  | { readonly kind: 'new'; readonly storeId: string | undefined }
  | { readonly kind: 'no'; readonly reason: ContinuityReason }

/** A store is the one that the witness knows, or nothing is opened in it. */
export function judgeStore({ storeId, witnessedId, isDamaged, isEmpty }: StoreIdentity): StoreVerdict {
  if (isDamaged) return { kind: 'no', reason: 'damaged' }
  if (storeId === undefined)
    return witnessedId === undefined
      ? { kind: 'new', storeId: undefined }
      : { kind: 'no', reason: 'lost-state' }
  // The store's own mark is made first.
  if (witnessedId === undefined)
    return isEmpty ? { kind: 'new', storeId } : { kind: 'no', reason: 'no-witness' }
  return storeId === witnessedId ? { kind: 'known', storeId } : { kind: 'no', reason: 'other-store' }
}
