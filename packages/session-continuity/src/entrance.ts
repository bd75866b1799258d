import type { JsonObject } from '@tidemark/session-core'
import { Handle } from './handle.ts'
import { othersOf } from './acting.ts'
import { isBegun, type Binding } from './binding.ts'
import { GenerationEnd } from './generation-end.ts'
import type { HandleParts, RefreshRequest, ResetRequest } from './handle-parts.ts'
import { Incarnation } from './incarnation.ts'
import type { Policy } from './policy.ts'
import type { Facts, PolicyState, Verdict } from './policy-state.ts'
import { isSamePrincipal, type Principal } from './principal.ts'
import { refusal, refused } from './refusal.ts'
import { noteRefusal } from './refusals.ts'
import { refuseScope } from './scope.ts'
import { ScopeAccess } from './scope-access.ts'
import type { StoreVerdict } from './store-identity.ts'
import type { Terms } from './terms.ts'

export interface OpenRequest {
  readonly mode: 'begin' | 'resume'
  readonly credential?: unknown
  readonly scope: string
}

/** Whoever is told of an attempt that fails, fills in what is known by then. */
export interface Asker {
  principal?: Principal
}

interface Entry {
  readonly access: ScopeAccess
  readonly principal: Principal
  /** What is granted now. */
  readonly current: readonly string[]
  readonly action: `continuity/${string}`
  readonly detail: JsonObject
  readonly decide: (facts: Facts) => Verdict
  /** Whether a credential was shown for it. */
  readonly isShown: boolean
  /** What the handle before it went by beside its own state. */
  readonly before?: readonly Binding[]
  /** Of the generation before it: what its sessions hold is made durable first. */
  readonly end?: GenerationEnd
}

/** Where every handle comes from, but for those of lost states. Who asks and what is granted comes first. */
export class Entrance {
  constructor(private readonly terms: Terms) {}

  async open({ mode, credential, scope }: OpenRequest, asker: Asker): Promise<Handle> {
    const { rules, grants, authentication } = this.terms
    refuseScope(scope)
    const principal = (asker.principal = await authentication.authenticate(credential))
    const current = await grants.current(principal, scope)
    if (!rules.isAllowed(mode, { current })) throw refusal('no-grant', `no grant for ${mode}`)
    const access = this.accessOf(scope, await this.storeFor(mode))
    const decide = (facts: Facts): Verdict => {
      if (mode === 'begin') return rules.judgeBegin(facts, { principal, operations: current })
      const verdict = rules.judgeResume(facts, { principal })
      const recorded = verdict.kind === 'yes' ? verdict.state.operations : []
      const isAllowed = verdict.kind === 'no' || rules.isAllowed(mode, { recorded, current })
      return isAllowed ? verdict : { kind: 'no', reason: 'no-grant' }
    }
    const handle = await this.enter({
      ...{ access, principal, current, decide },
      action: `continuity/${mode}`,
      detail: {},
      isShown: true,
    })
    await this.fenceOlder(access, handle)
    return handle
  }

  async reset(before: Handle, parts: HandleParts, { reason }: ResetRequest): Promise<Handle> {
    const { rules, grants, now, handles } = this.terms
    const { principal, scope, own } = parts
    const current = await grants.current(principal, scope)
    const terms = { generation: own.generation, now: now(), principal, operations: current }
    const access = this.accessOf(scope, parts.storeId)
    const end = new GenerationEnd(handles, own.policy.key)
    try {
      const handle = await this.enter({
        ...{ access, principal, current, end },
        ...{ before: parts.others, isShown: false },
        action: 'continuity/reset',
        detail: { reason: clipped(reason), after: before.incarnation },
        decide: (facts) => rules.judgeReset(facts, terms),
      })
      await this.endFor(before, handle)
      await this.fenceOlder(access, handle)
      return handle
    } finally {
      end.over()
    }
  }

  async refresh(before: Handle, parts: HandleParts, { credential }: RefreshRequest): Promise<Handle> {
    const { rules, grants, authentication } = this.terms
    const { scope, own, granted } = parts
    const principal = await authentication.authenticate(credential)
    const isSame = isSamePrincipal(principal, parts.principal)
    const current = await grants.current(principal, scope)
    if (!rules.isAllowed('refresh', { recorded: granted, current }))
      throw refusal('no-grant', 'no grant for refresh')
    const terms = { generation: own.generation, isSamePrincipal: isSame, principal }
    const handle = await this.enter({
      access: this.accessOf(scope, parts.storeId),
      principal,
      current,
      ...{ before: parts.others, isShown: true },
      action: 'continuity/refresh',
      detail: { after: before.incarnation },
      decide: (facts) => rules.judgeRefresh(facts, terms),
    })
    await this.endFor(before, handle)
    return handle
  }

  /** What a handle is made of, once its state is durable. */
  async admit(
    { access, principal, current }: Pick<Entry, 'access' | 'principal' | 'current'>,
    made: { incarnation: Incarnation; own: Policy; others: readonly Binding[]; state: PolicyState },
  ): Promise<Handle> {
    const { labels, rules, grants, handles, sessionLabels, openings, report } = this.terms
    const { incarnation, own, others, state } = made
    const { scope, storeId, witness } = access
    if (handles.isOver) {
      await incarnation.close({ refused: 'reloading' })
      throw refusal('reloading', 'continuity is being unloaded; nothing was opened')
    }
    const handle = new Handle({
      scope,
      storeId,
      principal,
      incarnation,
      witness,
      own: { policy: own, generation: state.generation },
      others,
      state,
      granted: state.operations.filter((operation) => current.includes(operation)),
      labels,
      rules,
      currentGrants: () => grants.current(principal, scope),
      successor: this,
      onRefusal: (operation, error) =>
        noteRefusal(this.terms.refusals, operation, { error, principal, scope }),
      onLabel: (raised) => sessionLabels.follow(raised),
      sessions: {
        end: (ended) => openings.end(ended),
        keepLabel: (raised) => openings.flush(sessionLabels.bearersOf(raised)),
      },
      report,
      onEnd: (ended) => handles.drop(ended),
    })
    handles.add(handle)
    sessionLabels.follow(handle)
    return handle
  }

  /** The handles of this process that a newer one shows to be over. */
  async fenceOlder(access: ScopeAccess, { principal, generation }: Handle): Promise<void> {
    const { key } = access.policyOf(principal.id)
    const isOlder = (each: Handle): boolean => (each.generationOf(key) ?? generation) < generation
    await Promise.all([...this.terms.handles].filter(isOlder).map((each) => each.fence()))
  }

  accessOf(scope: string, storeId: string): ScopeAccess {
    const { store, labels, rules } = this.terms
    return new ScopeAccess({ store, labels, storeId, scope, rules })
  }

  /** @throws SessionError `CORRUPT` unless the store is the one that the witness knows. */
  async identity(): Promise<Exclude<StoreVerdict, { kind: 'no' }>> {
    const verdict = this.terms.rules.judgeStore(await this.terms.store.identify())
    if (verdict.kind === 'no') throw refused(verdict.reason)
    return verdict
  }

  /** The successor is there: what the one before it could not keep is told, and takes nothing back. */
  private async endFor(before: Handle, { incarnation }: Handle): Promise<void> {
    const lost = await before.end({ next: incarnation })
    if (lost !== undefined) this.terms.report(lost)
  }

  /** Only a begin makes a store. */
  private async storeFor(mode: OpenRequest['mode']): Promise<string> {
    const verdict = await this.identity()
    if (verdict.kind === 'known') return verdict.storeId
    if (mode === 'resume') throw refused('unknown-scope')
    return this.terms.store.establish(verdict.storeId)
  }

  private enter(entry: Entry): Promise<Handle> {
    return this.terms.handles.within(() => this.enterWithin(entry))
  }

  /** Judges, then records, then commits: what was refused before leaves nothing behind. */
  private async enterWithin(entry: Entry): Promise<Handle> {
    const { access, principal, action, detail } = entry
    const { labels, now } = this.terms
    const own = access.policyOf(principal.id)
    const { others, labels: inherited } = await othersOf({ ...entry, rules: this.terms.rules })
    const decide = (facts: Facts): Verdict => {
      const verdict = entry.decide(facts)
      if (verdict.kind === 'no') return verdict
      const { state } = verdict
      const sensitivity = labels.highest(state.sensitivity, ...inherited)
      return { kind: 'yes', state: { ...state, sensitivity } }
    }
    const judged = decide(await own.facts())
    if (judged.kind === 'no') throw refused(judged.reason)
    const { generation, sensitivity } = judged.state
    const incarnation = await Incarnation.begin({
      ...{ shelf: access.shelf, witness: access.witness, storeId: access.storeId, scope: access.scope },
      ...{ key: own.key, now, action, rules: this.terms.rules },
      detail: { ...detail, principal: principal.id, reached: [{ key: own.key, generation, sensitivity }] },
    })
    try {
      await entry.end?.begin()
      const state = await own.commit(decide, incarnation.patch)
      // Whoever of them begins later is not below what is done on their behalf now.
      for (const other of others) await isBegun(other, state.sensitivity)
      return await this.admit(entry, { incarnation, own, others, state })
    } catch (error) {
      await incarnation.abort(error)
      throw error
    }
  }
}

/** What a host gives as a reason is kept, within bounds. */
export function clipped(reason: string): string {
  return reason.slice(0, 1_000).toWellFormed()
}
