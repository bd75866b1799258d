import type { Labels } from './label.ts'
import { Policy } from './policy.ts'
import { Records } from './records.ts'
import type { Rules } from './rules.ts'
import { ScopeWitness } from './scope-witness.ts'
import type { AuditShelf, ContinuityStore } from './store.ts'

export interface ScopeAccessOptions {
  readonly store: ContinuityStore
  readonly labels: Labels
  readonly storeId: string
  readonly scope: string
  readonly rules: Pick<Rules, 'continuityKey' | 'judgeLife'>
}

/** Everything that is stored of one scope. */
export class ScopeAccess {
  readonly shelf: AuditShelf
  readonly witness: ScopeWitness
  readonly records: Records

  constructor(private readonly options: ScopeAccessOptions) {
    const { store, labels, storeId, scope, rules } = options
    this.shelf = store.audit({ storeId, scope })
    this.witness = new ScopeWitness(store.witness({ storeId, scope }), labels, this.shelf)
    this.records = new Records(this.shelf, this.witness, { storeId, scope, rules })
  }

  get storeId(): string {
    return this.options.storeId
  }

  get scope(): string {
    return this.options.scope
  }

  policyOf(principalId: string): Policy {
    const { store, labels, storeId, scope, rules } = this.options
    const { witness, shelf } = this
    const key = rules.continuityKey(storeId, principalId, scope)
    return new Policy({ key, cell: store.state({ storeId, scope, key }), witness, shelf, labels })
  }
}
