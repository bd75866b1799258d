import { z } from 'zod'
import type { Labels } from './label.ts'
import { isShortOf, reachOf, type CredentialBounds, type Mark } from './mark.ts'
import { numberMax } from './numbering.ts'
import type { Principal } from './principal.ts'
import type { ContinuityReason } from './refusal.ts'

/** What continues over a restart, for one principal in one scope. */
export interface PolicyState extends CredentialBounds {
  /** Counted from 1. What was issued under an older one is dead. */
  readonly generation: number
  readonly sensitivity: string
  /** The assurance that it was established with, or the highest that refreshed it. */
  readonly assurance: number
  /** Of all credentials that were accepted. */
  readonly newestAuthenticatedAt: number
  /** A credential must be newer than the last reset; -1 where there was none. */
  readonly credentialsAfter: number
  /** What the host granted when it was established: what it grants later is intersected with this. */
  readonly operations: readonly string[]
}

/** The last moment that a date tells. */
const timeMax = 8.64e15

export const policyStateSchema = z.strictObject({
  generation: z.int().min(1).max(numberMax),
  sensitivity: z.string().min(1).max(100),
  assurance: z.int().min(0),
  newestAuthenticatedAt: z.int().min(0),
  credentialsAfter: z.int().min(-1),
  operations: z.array(z.string().max(100)).max(100),
})

export type StateFound =
  | { readonly kind: 'missing' }
  | { readonly kind: 'damaged' }
  | { readonly kind: 'found'; readonly revision: number; readonly state: PolicyState }

/** What a rule looks at. The witness was read before the state, so a sound state is never behind it. */
export interface Facts {
  readonly found: StateFound
  readonly mark: Mark | undefined
  readonly labels: Labels
  /** What was reached on behalf of somebody who has not begun. */
  readonly owed?: string | undefined
}

export type Verdict =
  | { readonly kind: 'yes'; readonly state: PolicyState }
  | { readonly kind: 'no'; readonly reason: ContinuityReason }

const no = (reason: ContinuityReason): Verdict => ({ kind: 'no', reason })
const yes = (state: PolicyState): Verdict => ({ kind: 'yes', state })

/**
 * Whether a state goes on from where the witness saw it. What is ahead of it within a generation is a crash that was
 * in time; a new generation is the only way down, and so the witness knows of it first.
 */
export function judgeStanding({ found, mark, labels }: Facts): Verdict {
  if (found.kind === 'damaged') return no('damaged')
  if (found.kind === 'missing') return no(mark ? 'lost-state' : 'unknown-scope')
  if (!mark) return no('no-witness')
  const { state, revision } = found
  const { coming = [] } = mark
  if (![state, mark, ...coming].every(({ sensitivity }) => labels.has(sensitivity)))
    return no('unknown-label')
  if (revision < mark.revision || state.generation < mark.generation) return no('behind-witness')
  const reached = reachOf(state)
  if (state.generation === mark.generation)
    return isShortOf(reached, mark, labels) ? no('behind-witness') : yes(state)
  const announced = coming.find(({ generation }) => generation === state.generation)
  return announced && !isShortOf(reached, announced, labels) ? yes(state) : no('ahead-of-witness')
}

/** Whether a credential may go on with what earlier ones established. */
export function refuseCredential(
  bounds: CredentialBounds,
  { assurance, authenticatedAt }: Principal,
): ContinuityReason | undefined {
  if (assurance < bounds.assurance) return 'weaker-assurance'
  const isStale = authenticatedAt < bounds.newestAuthenticatedAt || authenticatedAt <= bounds.credentialsAfter
  return isStale ? 'stale-credential' : undefined
}

function judgeCredential(state: PolicyState, principal: Principal): Verdict {
  const reason = refuseCredential(state, principal)
  if (reason) return no(reason)
  const { assurance, authenticatedAt } = principal
  return yes({ ...state, assurance, newestAuthenticatedAt: authenticatedAt })
}

export interface BeginTerms {
  readonly principal: Principal
  readonly operations: readonly string[]
}

/** A scope that nobody has seen begins at the floor, or at what was reached on its principal's behalf. One that the witness has seen has lost its state. */
export function judgeBegin(facts: Facts, { principal, operations }: BeginTerms): Verdict {
  const standing = judgeStanding(facts)
  if (standing.kind === 'yes') return no('known-scope')
  // Somebody else's begin may be between its state and its witness.
  if (standing.reason === 'no-witness') return no('known-scope')
  if (standing.reason !== 'unknown-scope') return standing
  return yes({
    generation: 1,
    sensitivity: facts.labels.highest(facts.labels.floor, ...(facts.owed === undefined ? [] : [facts.owed])),
    assurance: principal.assurance,
    newestAuthenticatedAt: principal.authenticatedAt,
    credentialsAfter: -1,
    operations,
  })
}

/**
 * Never turns what is missing into something fresh. A resume keeps the assurance that was established: only a
 * refresh raises it.
 */
export function judgeResume(facts: Facts, { principal }: { readonly principal: Principal }): Verdict {
  const standing = judgeStanding(facts)
  if (standing.kind === 'no') return standing
  const judged = judgeCredential(standing.state, principal)
  return judged.kind === 'no' ? judged : yes({ ...judged.state, assurance: standing.state.assurance })
}

/** What every use of a handle rests on: a sound state, of the generation that the handle was opened in. */
export function judgeGeneration(facts: Facts, { generation }: { readonly generation: number }): Verdict {
  const standing = judgeStanding(facts)
  if (standing.kind === 'no') return standing
  return standing.state.generation === generation ? standing : no('stale-generation')
}

export interface DelegatedTerms {
  readonly generation: number
  /** One whom another acts for, as it was authenticated when it let the other act. */
  readonly principal: Principal
}

/**
 * What was issued on behalf of somebody dies with what was issued to it. It is compared, and nothing else: what
 * another shows supersedes no credential of its own.
 */
export function judgeDelegated(facts: Facts, { generation, principal }: DelegatedTerms): Verdict {
  const current = judgeGeneration(facts, { generation })
  if (current.kind === 'no') return current
  const reason = refuseCredential(current.state, principal)
  return reason ? no(reason) : current
}

export interface RaiseTerms {
  readonly generation: number
  readonly label: string
}

/** Merges by maximum, so that the order of racing writes does not matter. */
export function mergeRaise(facts: Facts, { generation, label }: RaiseTerms): Verdict {
  const current = judgeGeneration(facts, { generation })
  if (current.kind === 'no') return current
  const { state } = current
  const sensitivity = facts.labels.highest(state.sensitivity, label)
  return yes(sensitivity === state.sensitivity ? state : { ...state, sensitivity })
}

export interface ResetTerms extends BeginTerms {
  readonly generation: number
  readonly now: number
}

/** A new generation at the floor. Every credential from before it is dead, used or not. */
export function judgeReset(facts: Facts, { generation, now, principal, operations }: ResetTerms): Verdict {
  const current = judgeGeneration(facts, { generation })
  if (current.kind === 'no') return current
  const { newestAuthenticatedAt } = current.state
  return yes({
    generation: generation + 1,
    sensitivity: facts.labels.floor,
    // Another instance may have been refreshed to more than this one was opened with.
    assurance: Math.max(principal.assurance, current.state.assurance),
    newestAuthenticatedAt,
    // A clock that tells no number leaves what was seen to go by.
    credentialsAfter: Math.max(
      Number.isFinite(now) ? Math.min(Math.ceil(now), timeMax) : -1,
      newestAuthenticatedAt,
    ),
    operations,
  })
}

export interface RefreshTerms {
  readonly generation: number
  readonly isSamePrincipal: boolean
  readonly principal: Principal
}

/** A fresh credential of the same principal, at least as sure and at least as new as the newest seen. */
export function judgeRefresh(facts: Facts, terms: RefreshTerms): Verdict {
  const current = judgeGeneration(facts, terms)
  if (current.kind === 'no') return current
  return terms.isSamePrincipal ? judgeCredential(current.state, terms.principal) : no('other-principal')
}
