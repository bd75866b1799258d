import type { JsonObject } from '@tidemark/session-core'
import type { Binding } from './binding.ts'
import type { Handle } from './handle.ts'
import type { Incarnation } from './incarnation.ts'
import type { Labels } from './label.ts'
import type { PolicyState } from './policy-state.ts'
import type { Principal } from './principal.ts'
import type { Rules } from './rules.ts'
import type { ScopeWitness } from './scope-witness.ts'

export interface HandleParts {
  readonly scope: string
  readonly storeId: string
  readonly principal: Principal
  readonly incarnation: Incarnation
  readonly witness: ScopeWitness
  readonly own: Binding
  /** Of those whom the principal acts for. */
  readonly others: readonly Binding[]
  readonly state: PolicyState
  /** What was recorded, and was granted when it was opened. */
  readonly granted: readonly string[]
  readonly labels: Labels
  readonly rules: Rules
  readonly currentGrants: () => Promise<readonly string[]>
  readonly successor: Succession
  /** Hears of every call that failed. */
  readonly onRefusal: (operation: string, error: unknown) => void
  /** Hears of every rise of the label, before it is acknowledged. */
  readonly onLabel: (handle: Handle) => void
  readonly sessions: HandleSessions
  /** Hears of what fails where nobody waits for it. */
  readonly report: (error: unknown) => void
  readonly onEnd: (handle: Handle) => void
}

/** The living sessions of a handle. Neither call waits without bound. */
export interface HandleSessions {
  /** Ends those that were opened as the handle, written and released. What the first failed with, if one did. */
  end(handle: Handle): Promise<Error | undefined>
  /** Resolves when the handle's label is durable in all that took it. */
  keepLabel(handle: Handle): Promise<void>
}

/** How a handle is followed by another one. */
export interface Succession {
  reset(before: Handle, parts: HandleParts, request: ResetRequest): Promise<Handle>
  refresh(before: Handle, parts: HandleParts, request: RefreshRequest): Promise<Handle>
}

export interface ResetRequest {
  readonly reason: string
}

export interface RefreshRequest {
  readonly credential: unknown
}

export interface AuditInput {
  readonly action: string
  readonly detail?: JsonObject
}
