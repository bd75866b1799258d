import { isSessionError, type Host } from '@tidemark/session-core'
import type { Continuity } from './continuity.ts'
import type { Handle } from './handle.ts'
import type { AuthorizeQuestion, SessionHeaderFunction } from './host.ts'
import { ListRefusals } from './list-refusals.ts'
import { reasonOf, type ContinuityReason } from './refusal.ts'
import type { Refusals } from './refusals.ts'
import type { Rules } from './rules.ts'
import type { BoundHeader } from './session-header.ts'
import type { SessionLabels } from './session-labels.ts'
import type { SessionOpenings } from './session-openings.ts'
import type { HandleBook } from './terms.ts'

/** Operations that a living session comes of. */
const openings: readonly string[] = ['create', 'resume', 'fork']

export interface EnforcementParts {
  readonly continuity: Continuity
  readonly refusals: Refusals
  readonly handles: HandleBook
  readonly openings: SessionOpenings
  readonly sessionLabels: SessionLabels
  readonly rules: Rules
  readonly headerOf: SessionHeaderFunction
  readonly report: (error: unknown) => void
}

/**
 * Answers `tidemark/authorize`. Yes takes an open handle of ours, of the generation that is current, a grant for the
 * operation that holds now, and a session that bears the same principal and scope.
 */
export class Enforcement {
  private readonly lists = new ListRefusals()

  constructor(private readonly parts: EnforcementParts) {}

  async answer(question: AuthorizeQuestion): Promise<void> {
    const reason = await this.findReason(question)
    if (reason === undefined) return question.allow()
    question.deny()
    const handle = this.parts.continuity.findHandle(question.as)
    const { operation, sessionId } = question
    // Whoever has no handle shares one place with the others.
    if (operation === 'list' && !this.lists.isAttempt(handle ?? this, sessionId, reason)) return
    this.parts.refusals.record({
      operation: `session/${operation}`,
      reason,
      sessionId,
      ...(handle && { principal: handle.principal.id, scope: handle.scope }),
    })
  }

  private async findReason(question: AuthorizeQuestion): Promise<ContinuityReason | undefined> {
    const handle = this.parts.continuity.findHandle(question.as)
    if (!handle || !this.isLettingIn(question, handle)) return 'closed'
    try {
      await handle.requireGrant(`session/${question.operation}`)
      await handle.look()
      if (!(await this.isOwn(question, handle))) return 'other-principal'
      if (question.operation === 'flush') this.parts.sessionLabels.requireBorne(question.sessionId, handle)
      this.parts.openings.allowed(question, handle)
      return undefined
    } catch (error) {
      const reason = reasonOf(error)
      if (reason === undefined || reason === 'unavailable') this.parts.report(error)
      return reason ?? 'unavailable' // who cannot tell has not said yes
    }
  }

  /** One that is ending lets its sessions be written, and while its generation ends, all that is stored be read. */
  private isLettingIn({ operation }: AuthorizeQuestion, handle: Handle): boolean {
    if (operation === 'flush') return true
    return openings.includes(operation) ? this.parts.openings.mayOpenAs(handle) : handle.isOpen
  }

  private async isOwn(question: AuthorizeQuestion, handle: Handle): Promise<boolean> {
    const { rules, headerOf } = this.parts
    const { operation, sessionId, childId, header, childHeader } = question
    const isOf = (found: BoundHeader): boolean => rules.isHeaderOf(found, handle)
    const stored = header ?? (await headerOf(sessionId))
    // What is to be created is not stored yet; without the right metadata nobody will be let at it.
    if (operation === 'create' ? stored && !isOf(stored) : !stored || !isOf(stored)) return false
    if (childHeader) return isOf(childHeader)
    const child = childId === undefined ? undefined : await headerOf(childId)
    return child === undefined || isOf(child)
  }
}

interface HeaderStorage {
  read(id: string, terms: { readonly from: number }): Promise<{ readonly header: BoundHeader }>
}

/** Headers as `ctx.sessionStorage` has them, if there is one. */
export function storedHeaders(ctx: Host): SessionHeaderFunction {
  return async (sessionId) => {
    const storage = ctx.get('sessionStorage') as HeaderStorage | undefined
    if (!storage) return undefined
    try {
      return (await storage.read(sessionId, { from: Number.MAX_SAFE_INTEGER })).header
    } catch (error) {
      if (isSessionError(error) && error.code === 'NOT_FOUND') return undefined
      throw error
    }
  }
}
