import { isBegun, type Binding } from './binding.ts'
import type { Incarnation } from './incarnation.ts'
import type { Verdict } from './policy-state.ts'
import type { Rules } from './rules.ts'

export interface Raise {
  readonly label: string
  readonly incarnation: Incarnation
  readonly rules: Rules
  /** Hears of the label of each state, which may be higher: it is durable. */
  readonly onReached: (label: string) => void
}

/** Records a raise, then writes it to every policy state that a handle goes by, each with its mark in the witness. */
export async function raiseStates(bindings: readonly Binding[], raise: Raise): Promise<void> {
  const { label, incarnation, rules, onReached } = raise
  const reached = bindings.map(({ policy, generation }) => ({
    key: policy.key,
    generation: Math.max(1, generation),
    sensitivity: label,
  }))
  await incarnation.append('continuity/raise', { label, reached })
  for (const binding of bindings) {
    if (!(await isBegun(binding, label))) continue
    const { policy, generation } = binding
    const { sensitivity } = await policy.commit(
      (facts): Verdict => rules.mergeRaise(facts, { generation, label }),
      incarnation.patch,
    )
    onReached(sensitivity)
  }
}
