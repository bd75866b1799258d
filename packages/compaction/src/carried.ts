import type { CarriedFact, CompactSummary } from './event.ts'
import type { PinnedFact } from './fact.ts'

/** The facts, as a summary carries them. */
export type Carried = Pick<CompactSummary, 'facts' | 'endsFacts'>

/**
 * What a summary says of the facts, for a range that begins at `from`: those in force; or that none is, where one
 * that has ended may still stand before the range.
 */
export function carriedBy(facts: readonly PinnedFact[], from: number, hasEnded: boolean): Carried {
  const carried = facts.map(({ key, text, digest }): CarriedFact => ({ key, text, digest }))
  const endsFacts = carried.length === 0 && from > 0 && hasEnded
  return { facts: carried, ...(endsFacts && { endsFacts }) }
}
