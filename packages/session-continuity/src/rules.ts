import { authenticatorFor } from './authenticator.ts'
import { isAllowed } from './grants.ts'
import { continuityKey } from './key.ts'
import * as policy from './policy-state.ts'
import { judgeRecover } from './recover-rule.ts'
import { judgeStore } from './store-identity.ts'
import { numberAfter } from './numbering.ts'
import { judgeAcknowledge, judgeLife } from './orphan.ts'
import { isHeaderOf } from './session-header.ts'
import { labelToRaise } from './session-labels.ts'

/** Every decision, in one place, so that a test can take one away and see that something is noticed. */
export const rules = {
  authenticatorFor,
  continuityKey,
  isAllowed,
  isHeaderOf,
  judgeAcknowledge,
  judgeBegin: policy.judgeBegin,
  judgeDelegated: policy.judgeDelegated,
  judgeGeneration: policy.judgeGeneration,
  judgeLife,
  judgeRecover,
  judgeRefresh: policy.judgeRefresh,
  judgeReset: policy.judgeReset,
  judgeResume: policy.judgeResume,
  judgeStore,
  labelToRaise,
  mergeRaise: policy.mergeRaise,
  numberAfter,
}

export type Rules = typeof rules
