import { assert } from '@tidemark/session-core'
import type { Labels } from './label.ts'
import { refusal } from './refusal.ts'
import type { AuditShelf, Cell } from './store.ts'
import { mergeWitness, noWitness, witnessSchema, type Witness, type WitnessPatch } from './witness.ts'

/** Others who are faster, one after the other. */
const triesMax = 1_000

/** The witness of one scope, as it is stored. */
export class ScopeWitness {
  constructor(
    private readonly cell: Cell,
    private readonly labels: Labels,
    private readonly shelf: Pick<AuditShelf, 'pause'>,
  ) {}

  /** @throws SessionError `CORRUPT` (`damaged`). */
  async read(): Promise<Witness> {
    return (await this.find()) ?? noWitness
  }

  /**
   * `undefined` where nothing was ever witnessed, or the witness is gone: the two look the same.
   * @throws SessionError `CORRUPT` (`damaged`).
   */
  async find(): Promise<Witness | undefined> {
    const found = await this.cell.read()
    if (found.kind === 'missing') return undefined
    const witness = found.kind === 'found' ? parse(found.value) : undefined
    if (witness) return witness
    throw refusal('damaged', 'the witness of a scope is damaged')
  }

  /**
   * Before anything is made for it: whether the witness has room for one more incarnation, of this key.
   * @throws SessionError `BACK_PRESSURE` (`too-many`).
   */
  async refuseFull(key: string, patch: WitnessPatch, { isSalvaged = false } = {}): Promise<void> {
    const before = isSalvaged ? await this.salvage() : await this.read()
    const mark = { key, value: { revision: 1, generation: 1, sensitivity: this.labels.floor } }
    mergeWitness(before, { ...patch, ...(!before.marks[key] && { mark }) }, this.labels)
  }

  /** Whether values of it lie about with numbers that nobody counted to. */
  async hasStrays(): Promise<boolean> {
    const found = await this.cell.read()
    return found.kind === 'found' && found.hasStrays === true
  }

  /** What is left of it, where it is damaged: it is evidence, and no base to go on from. */
  async salvage(): Promise<Witness> {
    const values = (await this.cell.provable()).flatMap((value) => parse(value) ?? [])
    return values.reduce((whole, value) => this.withAll(whole, value), noWitness)
  }

  /**
   * Resolves when the witness durably says so.
   * @throws SessionError `CORRUPT` (`damaged`), unless what can be salvaged is to be gone on from.
   */
  async patch(patch: WitnessPatch, { isSalvaged = false } = {}): Promise<void> {
    for (let tries = 0; tries < triesMax; tries++) {
      const found = await this.cell.read()
      const known = found.kind === 'found' ? parse(found.value) : undefined
      if (found.kind !== 'missing' && !known && !isSalvaged)
        throw refusal('damaged', 'the witness of a scope is damaged')
      const before = known ?? (found.kind === 'missing' ? noWitness : await this.salvage())
      const after = mergeWitness(before, patch, this.labels)
      if (after === noWitness) return // there is nothing to tell
      if (after === known) return this.cell.settle()
      assert(parse(after), 'a witness that is written can be read')
      if ((await this.cell.replace(after, { expected: found.number })) !== undefined) return
      await this.shelf.pause()
    }
    throw refusal('contended', 'others write the witness of this scope without a pause')
  }

  private withAll(whole: Witness, { marks, heads, owed = {} }: Witness): Witness {
    const patches: WitnessPatch[] = [
      ...Object.entries(owed).map(([key, label]) => ({ owed: { key, label } })),
      ...Object.entries(marks).map(([key, value]) => ({ mark: { key, value } })),
      ...Object.entries(heads).map(([number, value]) => ({ head: { number: Number(number), value } })),
    ]
    return patches.reduce((merged, patch) => mergeWitness(merged, patch, this.labels), whole)
  }
}

function parse(value: unknown): Witness | undefined {
  return witnessSchema.safeParse(value).data
}
