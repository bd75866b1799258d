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
  readonly isSound: boolean
  readonly store: 'known' | 'new' | ContinuityReason
  /** Of the state that belongs to who asks. */
  readonly state: 'sound' | ContinuityReason
  readonly chains: readonly VerifiedChain[]
  readonly checked: {
    /** Numbering, links and contents of every chain, and the links between them. */
    readonly chains: true
    /** That nothing is missing at the end of a chain, and that no state was rolled back: the witness says. */
    readonly truncation: boolean
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
  if (!access)
    return verdictOf({ store: storeState, state: 'unknown-scope', recorded: [], isWitnessed: false })
  let isWitnessed = true
  let state: Verification['state']
  try {
    const facts = await access.policyOf(principal.id).facts()
    const standing = judgeStanding(facts)
    const hasStrays = facts.hasStrays || (await access.witness.hasStrays())
    // What nobody counted to is not gone by, and is no part of a sound store either.
    state = standing.kind === 'no' ? standing.reason : hasStrays ? 'damaged' : 'sound'
    if (state === 'no-witness') isWitnessed = false
  } catch (error) {
    if (reasonOf(error) !== 'damaged') throw error
    state = 'damaged' // the witness itself
    isWitnessed = false
  }
  return verdictOf({ store: storeState, state, recorded: await access.records.salvage(), isWitnessed })
}

function verdictOf(found: {
  readonly store: Verification['store']
  readonly state: Verification['state']
  readonly recorded: readonly Recorded[]
  readonly isWitnessed: boolean
}): Verification {
  const { store, state, isWitnessed } = found
  const chains = found.recorded.map(({ number, incarnation, life, entriesCount, tornSizeBytes, fault }) => ({
    number,
    incarnation,
    life,
    entriesCount,
    tornSizeBytes,
    fault,
  }))
  const isSound = store === 'known' && state === 'sound' && chains.every(({ fault }) => fault === undefined)
  const checked = { chains: true, truncation: isWitnessed, rollback: isWitnessed, collusion: false } as const
  return { isSound, store, state, chains, checked }
}
