import { z } from 'zod'
import type { Labels } from './label.ts'
import type { Principal } from './principal.ts'
import type { ContinuityReason } from './refusal.ts'

/** What continues over a restart, for one principal in one scope. */
export interface PolicyState {
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
  generation: z.int().min(1),
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

/** How far the witness saw a state come. */
export interface Mark {
  readonly revision: number
  readonly generation: number
  readonly sensitivity: string
}

/** What a rule looks at. The witness was read before the state, so a sound state is never behind it. */
export interface Facts {
  readonly found: StateFound
  readonly mark: Mark | undefined
  readonly labels: Labels
}

export type Verdict =
  | { readonly kind: 'yes'; readonly state: PolicyState }
  | { readonly kind: 'no'; readonly reason: ContinuityReason }

const no = (reason: ContinuityReason): Verdict => ({ kind: 'no', reason })
const yes = (state: PolicyState): Verdict => ({ kind: 'yes', state })

/** Whether a state goes on from where the witness saw it. What is ahead of the witness is a crash that was in time. */
export function judgeStanding({ found, mark, labels }: Facts): Verdict {
  if (found.kind === 'damaged') return no('damaged')
  if (found.kind === 'missing') return no(mark ? 'lost-state' : 'unknown-scope')
  if (!mark) return no('no-witness')
  const { state, revision } = found
  if (!labels.has(state.sensitivity) || !labels.has(mark.sensitivity)) return no('unknown-label')
  const isBehind =
    revision < mark.revision ||
    state.generation < mark.generation ||
    (state.generation === mark.generation && labels.isBelow(state.sensitivity, mark.sensitivity))
  return isBehind ? no('behind-witness') : yes(state)
}

/** Whether a credential may go on with what an earlier one established. */
function judgeCredential(state: PolicyState, { assurance, authenticatedAt }: Principal): Verdict {
  if (assurance < state.assurance) return no('weaker-assurance')
  if (authenticatedAt < state.newestAuthenticatedAt || authenticatedAt <= state.credentialsAfter)
    return no('stale-credential')
  return yes({ ...state, assurance, newestAuthenticatedAt: authenticatedAt })
}

export interface BeginTerms {
  readonly principal: Principal
  readonly operations: readonly string[]
}

/** A scope that nobody has seen begins at the floor. One that the witness has seen has lost its state. */
export function judgeBegin(facts: Facts, { principal, operations }: BeginTerms): Verdict {
  const standing = judgeStanding(facts)
  if (standing.kind === 'yes') return no('known-scope')
  // Somebody else's begin may be between its state and its witness.
  if (standing.reason === 'no-witness') return no('known-scope')
  if (standing.reason !== 'unknown-scope') return standing
  return yes({
    generation: 1,
    sensitivity: facts.labels.floor,
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
    assurance: principal.assurance,
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

/** What is left of a lost or damaged state. */
export interface Evidence {
  readonly states: readonly PolicyState[]
  readonly mark: Mark | undefined
  /** What the audit chains say was reached. */
  readonly reached: readonly Pick<Mark, 'generation' | 'sensitivity'>[]
  readonly labels: Labels
}

/** A new generation at the highest label that anything proves, of whichever generation it was. */
export function judgeRecover(evidence: Evidence, { principal, operations }: BeginTerms): Verdict {
  const { states, mark, reached, labels } = evidence
  const proven = [...states, ...reached, ...(mark ? [mark] : [])]
  if (proven.length === 0) return no('unknown-scope')
  if (proven.some(({ sensitivity }) => !labels.has(sensitivity))) return no('unknown-label')
  const newest = states.reduce<PolicyState | undefined>(
    (best, state) => (best && best.generation > state.generation ? best : state),
    undefined,
  )
  const judged = newest ? judgeCredential(newest, principal) : undefined
  if (judged?.kind === 'no') return judged
  return yes({
    generation: Math.max(...proven.map(({ generation }) => generation)) + 1,
    sensitivity: labels.highest(labels.floor, ...proven.map(({ sensitivity }) => sensitivity)),
    assurance: principal.assurance,
    newestAuthenticatedAt: principal.authenticatedAt,
    credentialsAfter: newest?.credentialsAfter ?? -1,
    operations,
  })
}
