import type { Policy } from './policy.ts'
import type { Facts, PolicyState } from './policy-state.ts'

/** A policy state that a handle goes by, and the generation that it was opened in. */
export interface Binding {
  readonly policy: Policy
  /** 0 for one whom the principal acts for and who has not been in the scope: the first there is counts. */
  generation: number
}

/** As `boundFacts`, of a handle that is about to be opened: it goes by the generation that is there. */
export async function startingFacts(binding: Binding): Promise<Facts | undefined> {
  return factsFrom(binding, ({ generation }) => generation)
}

/** What is stored for a binding; `undefined` while whom it is of has not been in the scope. */
export async function boundFacts(binding: Binding): Promise<Facts | undefined> {
  // Whoever began since, began with the first: a later one came of a reset, which ends what was open.
  return factsFrom(binding, () => 1)
}

async function factsFrom(
  binding: Binding,
  startOf: (state: PolicyState) => number,
): Promise<Facts | undefined> {
  const facts = await binding.policy.facts()
  if (binding.generation > 0) return facts
  if (facts.found.kind === 'missing' && !facts.mark) return undefined
  if (facts.found.kind === 'found') binding.generation = startOf(facts.found.state)
  return facts
}

/** Whether a label can be written for a binding. While it cannot, the witness keeps it for the begin that is to come. */
export async function isBegun(binding: Binding, label: string): Promise<boolean> {
  if (binding.generation > 0) return true
  await binding.policy.owe(label)
  return (await boundFacts(binding)) !== undefined
}

/** The generation that a policy state was gone by in; `undefined` where it is gone by in none yet. */
export function generationIn(bindings: readonly Binding[], key: string): number | undefined {
  return bindings.find(({ policy, generation }) => policy.key === key && generation > 0)?.generation
}

/** Whether others are of a later generation of a policy state that is gone by here. */
export function isBefore(bindings: readonly Binding[], others: readonly Binding[]): boolean {
  return bindings.some(
    ({ policy, generation }) => generation > 0 && (generationIn(others, policy.key) ?? 0) > generation,
  )
}
