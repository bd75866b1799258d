import type { Labels } from './label.ts'
import { boundsOver, type CredentialBounds, type Mark, type Reach } from './mark.ts'
import { isWithinReach } from './numbering.ts'
import { refuseCredential, type BeginTerms, type PolicyState, type Verdict } from './policy-state.ts'

/** What is left of a lost or damaged state. */
export interface Evidence {
  readonly states: readonly PolicyState[]
  readonly mark: Mark | undefined
  /** What the audit chains say was reached. */
  readonly reached: readonly Pick<Mark, 'generation' | 'sensitivity'>[]
  readonly labels: Labels
}

export interface RecoverTerms extends BeginTerms {
  /** The latest moment that may be now: what was recorded as later was recorded under a clock that was ahead. */
  readonly latest?: number
}

/**
 * A new generation at the highest label that anything proves, of whichever generation it was, and with no more
 * operations than what is left of the state records.
 */
export function judgeRecover(evidence: Evidence, terms: RecoverTerms): Verdict {
  const { states, mark, reached, labels } = evidence
  const { principal, operations, latest = Infinity } = terms
  const proven = [...states, ...reached, ...witnessedIn(mark)]
  if (proven.length === 0) return { kind: 'no', reason: 'unknown-scope' }
  if (proven.some(({ sensitivity }) => !labels.has(sensitivity)))
    return { kind: 'no', reason: 'unknown-label' }
  const known = Math.max(0, ...witnessedIn(mark).map(({ generation }) => generation))
  const generations = proven.map(({ generation }) => generation)
  const counted = generations.filter((generation) => isWithinReach(generation, known))
  const bounds = withoutFuture(boundsIn(evidence, known), latest)
  const reason = refuseCredential(bounds, principal)
  if (reason) return { kind: 'no', reason }
  return {
    kind: 'yes',
    state: {
      generation: Math.max(known, ...counted) + 1,
      sensitivity: labels.highest(labels.floor, ...proven.map(({ sensitivity }) => sensitivity)),
      assurance: principal.assurance,
      newestAuthenticatedAt: principal.authenticatedAt,
      credentialsAfter: bounds.credentialsAfter,
      operations: operations.filter(isRecordedIn(countedIn(evidence, known))),
    },
  }
}

/** What the newest of these states hold, or anything where there is none: only a reset records more than was. */
function isRecordedIn(states: readonly PolicyState[]): (operation: string) => boolean {
  const newest = Math.max(...states.map(({ generation }) => generation))
  const recorded = states.filter(({ generation }) => generation === newest)
  return (operation) => recorded.every(({ operations }) => operations.includes(operation))
}

/** The states which the witness can have known, or any at all where it knows none. */
function countedIn({ states, mark }: Evidence, known: number): readonly PolicyState[] {
  return states.filter(({ generation }) => !mark || generation <= known)
}

/** What a mark proves: how far a state came, or may have come. */
function witnessedIn(mark: Mark | undefined): readonly Reach[] {
  return mark ? [mark, ...(mark.coming ?? [])] : []
}

/** The highest that is proven of any state that counts. */
function boundsIn(evidence: Evidence, known: number): CredentialBounds {
  const nothing = { assurance: 0, newestAuthenticatedAt: 0, credentialsAfter: -1 }
  const counted = countedIn(evidence, known)
  const witnessed = witnessedIn(evidence.mark).map(({ credentials }) => credentials)
  return boundsOver(Math.max, nothing, ...witnessed, ...counted) ?? nothing
}

/** What lies ahead of the clock would refuse every credential until that time comes: the rest still holds. */
function withoutFuture(bounds: CredentialBounds, latest: number): CredentialBounds {
  const isAhead = (time: number): boolean => time > latest
  const { newestAuthenticatedAt: newest, credentialsAfter: after } = bounds
  if (!isAhead(newest) && !isAhead(after)) return bounds
  const held = isAhead(newest) ? 0 : newest
  // What a reset ended stays ended, as far as it was ever seen.
  return { ...bounds, newestAuthenticatedAt: held, credentialsAfter: isAhead(after) ? held : after }
}
