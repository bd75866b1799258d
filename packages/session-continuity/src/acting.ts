import { boundFacts, startingFacts, type Binding } from './binding.ts'
import { actingChain, type Principal } from './principal.ts'
import { refused } from './refusal.ts'
import type { Rules } from './rules.ts'
import type { ScopeAccess } from './scope-access.ts'

export interface Acting {
  readonly access: ScopeAccess
  readonly principal: Principal
  readonly rules: Rules
  /** The bindings of the handle that goes on: whoever was reset since ends it. */
  readonly before?: readonly Binding[] | undefined
  /** Whether a credential is shown, which has to hold against the state of each of them. */
  readonly isShown: boolean
}

/** Those whom a principal acts for, and the labels of those who have been in the scope. */
export async function othersOf({
  access,
  principal,
  rules,
  before,
  isShown,
}: Acting): Promise<{ others: Binding[]; labels: string[] }> {
  const others: Binding[] = []
  const labels: string[] = []
  for (const each of actingChain(principal).slice(1)) {
    if (each.id === principal.id) continue // its own state, which it goes by anyway
    const policy = access.policyOf(each.id)
    const earlier = before?.find((binding) => binding.policy.key === policy.key)
    const binding: Binding = { policy, generation: earlier?.generation ?? 0 }
    others.push(binding)
    const facts = await (earlier ? boundFacts(binding) : startingFacts(binding))
    if (!facts) continue
    const { generation } = binding
    const verdict = isShown
      ? rules.judgeDelegated(facts, { generation, principal: each })
      : rules.judgeGeneration(facts, { generation })
    if (verdict.kind === 'no') throw refused(verdict.reason)
    labels.push(verdict.state.sensitivity)
  }
  return { others, labels }
}
