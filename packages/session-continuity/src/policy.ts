import { assert } from '@tidemark/session-core'
import type { Labels } from './label.ts'
import {
  judgeStanding,
  mergeRaise,
  policyStateSchema,
  type Facts,
  type PolicyState,
  type StateFound,
  type Verdict,
} from './policy-state.ts'
import { reachOf, type Mark } from './mark.ts'
import { reasonOf, refusal } from './refusal.ts'
import type { ScopeWitness } from './scope-witness.ts'
import type { AuditShelf, Cell, CellFound } from './store.ts'
import type { WitnessPatch } from './witness.ts'

/** Others who are faster, one after the other. */
const triesMax = 1_000

/** A state that the witness does not know is looked at so often. */
const looksMax = 20

export interface PolicyParts {
  readonly key: string
  readonly cell: Cell
  readonly witness: ScopeWitness
  readonly shelf: Pick<AuditShelf, 'pause'>
  readonly labels: Labels
}

/** What a decision is made upon, and the number that it has to be the next after. */
export type FoundFacts = Facts & { readonly number: number; readonly hasStrays: boolean }

/** The stored policy state of one key, with its mark in the witness. */
export class Policy {
  constructor(private readonly parts: PolicyParts) {}

  get key(): string {
    return this.parts.key
  }

  /** The witness is read first, so that a sound state is never behind it. */
  async facts(): Promise<FoundFacts> {
    for (let looks = 1; ; looks++) {
      const facts = await this.look()
      if (looks >= looksMax || !isUnderWay(judgeStanding(facts))) return facts
      await this.parts.shelf.pause()
    }
  }

  /**
   * Decides upon what is stored, as often as others are faster. Resolves when the state is durable and, after it,
   * the witness.
   * @throws SessionError with the reason of the verdict; nothing was changed then.
   */
  async commit(decide: (facts: Facts) => Verdict, patch: WitnessPatch = {}): Promise<PolicyState> {
    const { cell, shelf, key } = this.parts
    for (let tries = 0; tries < triesMax; tries++) {
      const facts = await this.facts()
      const verdict = decide(facts)
      if (verdict.kind === 'no')
        throw refusal(verdict.reason, `refused: ${verdict.reason}; nothing was changed`)
      const { state } = verdict
      refuseUnreadable(state)
      const { found, mark } = facts
      if (found.kind === 'found' && isSameState(found.state, state)) {
        // Whoever wrote it may not have come so far.
        await cell.settle()
        await this.witnessed(found.revision, state, patch)
        return state
      }
      if (mark && state.generation > mark.generation) await this.announce(state, facts)
      const revision = await cell.replace(state, { expected: facts.number })
      if (revision !== undefined) {
        await this.witnessed(revision, state, patch)
        return found.kind === 'missing' ? this.withOwed(state, patch) : state
      }
      await shelf.pause()
    }
    throw refusal('contended', `others write ${key.slice(0, 8)} without a pause`)
  }

  /** Keeps a label in the witness for the begin of whom this is of, until there is one. */
  async owe(label: string): Promise<void> {
    const { witness, key, labels } = this.parts
    if (labels.isBelow(labels.floor, label)) await witness.patch({ owed: { key, label } })
  }

  /** Somebody may have come to owe it something between the look and the write. */
  private async withOwed(state: PolicyState, patch: WitnessPatch): Promise<PolicyState> {
    const { labels } = this.parts
    const { owed } = await this.facts()
    if (owed === undefined || !labels.isBelow(state.sensitivity, owed)) return state
    const { generation } = state
    return this.commit((facts) => mergeRaise(facts, { generation, label: owed }), patch)
  }

  /** Puts a state in place of one that is lost or damaged; `undefined` when somebody else was faster. */
  async supersede(
    state: PolicyState,
    { number, above, patch }: { number: number; above: number; patch: WitnessPatch },
  ): Promise<PolicyState | undefined> {
    const { cell, witness, key } = this.parts
    refuseUnreadable(state)
    await this.announceSalvaged(state)
    const revision = await cell.replace(state, { expected: number, above })
    if (revision === undefined) return undefined
    const mark = { key, value: { revision, ...reachOf(state) } }
    await witness.patch({ ...patch, mark }, { isSalvaged: true })
    return state
  }

  /** Where the cell stands, sound or not. */
  async found(mark: Mark | undefined): Promise<CellFound> {
    return this.parts.cell.read({ known: mark?.revision })
  }

  /** Whatever is left of it and proves itself. */
  async provable(): Promise<readonly PolicyState[]> {
    const values = await this.parts.cell.provable()
    return values.flatMap((value) => policyStateSchema.safeParse(value).data ?? [])
  }

  private async look(): Promise<FoundFacts> {
    const { witness, key, cell, labels } = this.parts
    const { marks, owed } = await witness.read()
    const mark = marks[key]
    const found = await cell.read({ known: mark?.revision })
    const hasStrays = found.kind === 'found' && found.hasStrays === true
    return { found: asState(found), mark, labels, owed: owed?.[key], number: found.number, hasStrays }
  }

  /**
   * Tells the witness which generation is coming, so that it is not taken for a forged one. A generation that was
   * announced before, and written, is marked first: its announcement need not be kept then.
   */
  private async announce(state: PolicyState, facts: Facts): Promise<void> {
    const { witness, key, cell } = this.parts
    const { found, mark } = facts
    const isAnnounced = mark && found.kind === 'found' && found.state.generation > mark.generation
    if (isAnnounced && judgeStanding(facts).kind === 'yes') {
      await cell.settle()
      await this.witnessed(found.revision, found.state, {})
    }
    await witness.patch({ coming: { key, value: reachOf(state) } })
  }

  /** Of a damaged witness nothing is known yet: until the state is written, it stays one. */
  private async announceSalvaged(state: PolicyState): Promise<void> {
    try {
      await this.announce(state, await this.look())
    } catch (error) {
      if (reasonOf(error) !== 'damaged') throw error
    }
  }

  private async witnessed(revision: number, state: PolicyState, patch: WitnessPatch): Promise<void> {
    const { witness, key } = this.parts
    await witness.patch({ ...patch, mark: { key, value: { revision, ...reachOf(state) } } })
  }
}

/**
 * Whether the witness may know in a moment what it did not when it was read: a begin has its mark after its state, and
 * a new generation that was announced and written meanwhile is announced at the next look. What is forged stays so.
 */
function isUnderWay(verdict: Verdict): boolean {
  return verdict.kind === 'no' && ['no-witness', 'ahead-of-witness'].includes(verdict.reason)
}

function refuseUnreadable(state: PolicyState): void {
  assert(policyStateSchema.safeParse(state).success, 'a state that is written can be read')
}

function asState(found: CellFound): StateFound {
  if (found.kind !== 'found') return { kind: found.kind }
  const state = policyStateSchema.safeParse(found.value).data
  return state ? { kind: 'found', revision: found.number, state } : { kind: 'damaged' }
}

function isSameState(a: PolicyState, b: PolicyState): boolean {
  const spelled = (state: PolicyState): string => JSON.stringify(Object.entries(state).sort())
  return spelled(a) === spelled(b)
}
