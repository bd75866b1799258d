import { othersOf } from './acting.ts'
import { isBegun } from './binding.ts'
import { clipped, type Asker, type Entrance } from './entrance.ts'
import { GenerationEnd } from './generation-end.ts'
import type { Handle } from './handle.ts'
import { Incarnation } from './incarnation.ts'
import type { PolicyState } from './policy-state.ts'
import type { Principal } from './principal.ts'
import { refusal, refused } from './refusal.ts'
import { refuseScope } from './scope.ts'
import type { ScopeAccess } from './scope-access.ts'
import type { Terms } from './terms.ts'

export interface RecoverRequest {
  readonly credential?: unknown
  readonly reason: string
}

/** Others who recover the same, one after the other. */
const triesMax = 64

interface Found {
  readonly number: number
  readonly above: number
  readonly state: PolicyState
}

/** Goes on from a lost or damaged state, by a grant of its own, at the highest label that anything proves. */
export class Recovery {
  constructor(
    private readonly terms: Terms,
    private readonly entrance: Entrance,
  ) {}

  recover(scope: string, request: RecoverRequest, asker: Asker): Promise<Handle> {
    return this.terms.handles.within(() => this.recoverWithin(scope, request, asker))
  }

  private async recoverWithin(scope: string, request: RecoverRequest, asker: Asker): Promise<Handle> {
    const { authentication, grants, rules } = this.terms
    refuseScope(scope)
    const principal = (asker.principal = await authentication.authenticate(request.credential))
    const current = await grants.current(principal, scope)
    // What was recorded may be what is lost: the grant of today alone counts.
    if (!rules.isAllowed('recover', { current })) throw refusal('no-grant', 'no grant for recover')
    const storeId = await this.knownStore()
    const access = this.entrance.accessOf(scope, storeId)
    const { others, labels } = await othersOf({ access, principal, rules, isShown: true })
    const terms = { access, principal, current, inherited: labels }
    // Nothing is made for a scope of which nothing is left.
    const { state } = await this.judge(terms)
    await this.terms.store.establish(storeId)
    const own = access.policyOf(principal.id)
    const { generation, sensitivity } = state
    const incarnation = await Incarnation.begin({
      ...{ shelf: access.shelf, witness: access.witness, storeId, scope, key: own.key },
      ...{ now: this.terms.now, rules },
      action: 'continuity/recover',
      detail: {
        ...{ reason: clipped(request.reason), principal: principal.id },
        // Where it is less than was recorded, the clock says that the record was made under one that was ahead.
        credentialsAfter: state.credentialsAfter,
        reached: [{ key: own.key, generation, sensitivity }],
      },
      isTolerant: true,
    })
    const end = new GenerationEnd(this.terms.handles, own.key)
    try {
      await end.begin()
      const committed = await this.commit(terms, incarnation)
      for (const other of others) await isBegun(other, committed.sensitivity)
      const handle = await this.entrance.admit(terms, { incarnation, own, others, state: committed })
      await this.entrance.fenceOlder(access, handle)
      return handle
    } catch (error) {
      await incarnation.abort(error)
      throw error
    } finally {
      end.over()
    }
  }

  private async commit(terms: JudgeTerms, incarnation: Incarnation): Promise<PolicyState> {
    const { access, principal } = terms
    for (let tries = 0; tries < triesMax; tries++) {
      const { state, ...place } = await this.judge(terms, incarnation.id)
      const { patch } = incarnation
      const committed = await access.policyOf(principal.id).supersede(state, { ...place, patch })
      if (committed) return committed
      await access.shelf.pause()
    }
    throw refusal('contended', 'others recover this scope without a pause')
  }

  /** What this very recovery has recorded already proves nothing. */
  private async judge({ access, principal, current, inherited }: JudgeTerms, ownId?: string): Promise<Found> {
    const { labels, rules, now, clockToleranceMs } = this.terms
    const policy = access.policyOf(principal.id)
    const mark = (await access.witness.salvage()).marks[policy.key]
    const { number } = await policy.found(mark)
    const states = await policy.provable()
    const recorded = (await access.records.salvage()).filter(({ incarnation }) => incarnation !== ownId)
    const reached = recorded.flatMap((each) => each.reached).filter(({ key }) => key === policy.key)
    const verdict = rules.judgeRecover(
      { states, mark, reached, labels },
      { principal, operations: current, latest: now() + clockToleranceMs },
    )
    if (verdict.kind === 'no') throw refused(verdict.reason)
    const sensitivity = labels.highest(verdict.state.sensitivity, ...inherited)
    return { number, above: mark?.revision ?? 0, state: { ...verdict.state, sensitivity } }
  }

  /** The store, or what the witness knows of a lost one. A store that another witness knows is not to be gone on in. */
  private async knownStore(): Promise<string> {
    const identity = await this.terms.store.identify()
    const { storeId, witnessedId } = identity
    const verdict = this.terms.rules.judgeStore(identity)
    if (verdict.kind === 'no' && verdict.reason === 'other-store') throw refused('other-store')
    // Of the two that say it, one is enough: whatever is of another store does not prove itself under this id.
    const known = storeId ?? witnessedId
    if (known === undefined) throw refused(identity.isDamaged ? 'damaged' : 'unknown-scope')
    return known
  }
}

interface JudgeTerms {
  readonly access: ScopeAccess
  readonly principal: Principal
  readonly current: readonly string[]
  readonly inherited: readonly string[]
}
