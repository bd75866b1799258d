import type { ChainFaultKind, Recorded } from './records.ts'
import { judgeStanding } from './policy-state.ts'
import type { Life } from './orphan.ts'
import type { Principal } from './principal.ts'
import { reasonOf, type ContinuityReason } from './refusal.ts'
import type { ScopeAccess } from './scope-access.ts'
import type { StoreVerdict } from './store-identity.ts'

export interface VerifiedChain {
  readonly number: number
  readonly incarnation: string | undefined
  readonly life: Life
  readonly entriesCount: number
  /** Bytes at the end of an entry that was never acknowledged. */
  readonly tornSizeBytes: number
  readonly fault: ChainFaultKind | undefined
}

/** What was found, and what could be checked at all. */
export interface Verification {
  /** The store, the chains, and the state of who asks. */
  readonly isSound: boolean
  readonly store: 'known' | 'new' | ContinuityReason
  /** Of the state that belongs to who asks; `unknown-scope` for one who never was in it, and only audits. */
  readonly state: 'sound' | ContinuityReason
  readonly chains: readonly VerifiedChain[]
  readonly checked: {
    /** Numbering, links and contents of every chain, and the links between them. */
    readonly chains: true
    /** That nothing is missing at the end of a chain: there is a witness of the scope, and it says. */
    readonly truncation: boolean
    /** That the state of who asks was not rolled back: the witness knows that state. */
    readonly rollback: boolean
    /** Store and witness rewritten together: nobody here can tell. */
    readonly collusion: false
  }
}

export interface VerifyTerms {
  readonly access: ScopeAccess | undefined
  readonly store: StoreVerdict
  /** Beside what says which store it is. */
  readonly hasStrays: boolean
  readonly principal: Principal
}

export async function verificationOf({ access, principal, ...terms }: VerifyTerms): Promise<Verification> {
  const { store } = terms
  const storeState = store.kind === 'no' ? store.reason : terms.hasStrays ? 'damaged' : store.kind
  if (!access) return verdictOf({ store: storeState, ...unseen('unknown-scope'), recorded: [] })
  const looked = await lookAt(access, principal)
  // A witness that does not know this store says nothing of what is in it.
  const standing = store.kind === 'known' ? looked : unseen(looked.state)
  return verdictOf({ store: storeState, ...standing, recorded: await access.records.salvage() })
}

interface Standing {
  readonly state: Verification['state']
  /** Whether there is a witness of the scope, and whether it knows the state of who asks. */
  readonly isWitnessed: boolean
  readonly isMarked: boolean
}

function unseen(state: Verification['state']): Standing {
  return { state, isWitnessed: false, isMarked: false }
}

async function lookAt(access: ScopeAccess, principal: Principal): Promise<Standing> {
  try {
    const facts = await access.policyOf(principal.id).facts()
    const isWitnessed = (await access.witness.find()) !== undefined
    const standing = judgeStanding(facts)
    const hasStrays = facts.hasStrays || (await access.witness.hasStrays())
    const found = standing.kind === 'no' ? standing.reason : 'sound'
    // What nobody counted to is not gone by, and is no part of a sound store either.
    const state = hasStrays && ['sound', 'unknown-scope'].includes(found) ? 'damaged' : found
    return { state, isWitnessed, isMarked: facts.mark !== undefined }
  } catch (error) {
    if (reasonOf(error) !== 'damaged') throw error
    return unseen('damaged') // the witness itself
  }
}

function verdictOf({
  store,
  state,
  isWitnessed,
  isMarked,
  recorded,
}: Standing & Pick<Verification, 'store'> & { readonly recorded: readonly Recorded[] }): Verification {
  const chains = recorded.map(({ number, incarnation, life, entriesCount, tornSizeBytes, fault }) => ({
    number,
    incarnation,
    life,
    entriesCount,
    tornSizeBytes,
    fault,
  }))
  // Whoever only audits has no state, and finds a sound scope sound: one that is there, and is witnessed.
  const isAudited = state === 'unknown-scope' && isWitnessed && chains.length > 0
  const isStanding = state === 'sound' || isAudited
  const isSound = store === 'known' && isStanding && chains.every(({ fault }) => fault === undefined)
  const checked = { chains: true, truncation: isWitnessed, rollback: isMarked, collusion: false } as const
  return { isSound, store, state, chains, checked }
}
