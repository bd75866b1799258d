import { z } from 'zod'
import { findOpening, firstIncarnation, holds, readChain, type ChainReading } from './audit-chain.ts'
import type { ChainHead } from './audit-entry.ts'
import { closeAction, isClosed } from './incarnation.ts'
import type { Life } from './orphan.ts'
import type { ScopeWitness } from './scope-witness.ts'
import type { AuditShelf } from './store.ts'
import type { Witness } from './witness.ts'

/** The action of whoever acknowledges an orphan. */
export const acknowledgeAction = 'continuity/acknowledge'

/** One incarnation, as its audit file and the kernel tell of it; the entries themselves are not kept. */
export interface Recorded {
  readonly number: number
  readonly incarnation: string | undefined
  readonly principal: string | undefined
  readonly startedAt: number | null
  readonly entriesCount: number
  readonly tornSizeBytes: number
  /** Labels that were reached, each once. */
  readonly reached: readonly Reached[]
  readonly life: Life
  /** Something is wrong with its chain: its own, or what the witness or a later chain knows of it. */
  readonly fault: ChainFaultKind | undefined
}

export type ChainFaultKind =
  NonNullable<ChainReading['fault']>['kind'] | 'missing' | 'truncated' | 'exchanged'

export interface RecordsPlace {
  readonly storeId: string
  readonly scope: string
}

/**
 * All audit chains of a scope, each verified by itself, against the chains that link to it, and the witness.
 *
 * 1. One chain is in memory at a time. Of the others there is what `Recorded` holds, the heads that are still to be
 *    looked for, and the ids of incarnations that were acknowledged.
 * 2. Each chain is read twice, its first line first, and judged once.
 */
export class Records {
  constructor(
    private readonly shelf: AuditShelf,
    private readonly witness: ScopeWitness,
    private readonly place: RecordsPlace,
  ) {}

  /** The witness is read first: what it knows must be there. */
  async survey(): Promise<readonly Recorded[]> {
    return this.against(await this.witness.read())
  }

  /** As `survey`, with what can be read of a damaged witness. */
  async salvage(): Promise<readonly Recorded[]> {
    return this.against(await this.witness.salvage())
  }

  /** The newest first: whatever links to a chain was read before it. */
  private async against({ heads }: Witness): Promise<readonly Recorded[]> {
    const wanted = new WantedHeads()
    for (const [number, head] of Object.entries(heads)) wanted.add({ number: Number(number), ...head })
    const acknowledged = new Set<unknown>()
    const found = new Map<number, Recorded>()
    for (const number of [...(await this.shelf.numbers())].reverse()) {
      const { reading, isHeld } = await this.read(number)
      for (const { entry } of reading.entries)
        if (entry.action === acknowledgeAction) acknowledged.add(entry.detail.incarnation)
      for (const link of findOpening(reading)?.links ?? []) wanted.add(link)
      found.set(number, recordedOf(number, reading, { isHeld, missed: wanted.missedIn(number, reading) }))
    }
    const numbers = withGaps([...found.keys(), ...wanted.numbers])
    return numbers.map((number) => {
      const recorded = found.get(number) ?? missing(number)
      const { life, incarnation } = recorded
      const isKnown = life === 'orphaned' && incarnation !== undefined && acknowledged.has(incarnation)
      return isKnown ? { ...recorded, life: 'acknowledged' } : recorded
    })
  }

  /** Asked before it is read: one that ended cleanly in between is not taken for an orphan. */
  private async read(number: number): Promise<{ reading: ChainReading; isHeld: boolean }> {
    const bytes = async (): Promise<Uint8Array> => (await this.shelf.read(number)) ?? new Uint8Array()
    const incarnation = firstIncarnation(await bytes())
    const isHeld = incarnation !== undefined && (await this.shelf.isHeld(incarnation))
    return { reading: readChain(await bytes(), { ...this.place, number }), isHeld }
  }
}

/** Heads that chains must hold, until they were looked for. */
class WantedHeads {
  private readonly byNumber = new Map<number, Map<string, ChainHead>>()

  get numbers(): readonly number[] {
    return [...this.byNumber.keys()]
  }

  add({ number, index, digest }: ChainHead & { readonly number: number }): void {
    const heads = this.byNumber.get(number) ?? new Map<string, ChainHead>()
    this.byNumber.set(number, heads.set(`${index} ${digest}`, { index, digest }))
  }

  /** The first that a chain does not hold. What is wanted of it later comes from a chain that is no successor. */
  missedIn(number: number, reading: ChainReading): ChainHead | undefined {
    const heads = [...(this.byNumber.get(number)?.values() ?? [])]
    this.byNumber.delete(number)
    return heads.find((head) => !holds(reading, head))
  }
}

function recordedOf(
  number: number,
  reading: ChainReading,
  { isHeld, missed }: { readonly isHeld: boolean; readonly missed: ChainHead | undefined },
): Recorded {
  const { entries, tornSizeBytes } = reading
  const first = entries[0]?.entry
  const cut = missed && (entries.length <= missed.index ? 'truncated' : 'exchanged')
  return {
    number,
    incarnation: first?.incarnation,
    principal: findOpening(reading)?.principal,
    startedAt: first?.time ?? null,
    entriesCount: entries.length,
    tornSizeBytes,
    reached: reachedIn(reading),
    life: isHeld ? 'running' : isClosed(reading) ? 'closed' : 'orphaned',
    fault: reading.fault?.kind ?? cut,
  }
}

function missing(number: number): Recorded {
  const nothing = { incarnation: undefined, principal: undefined, startedAt: null, entriesCount: 0 }
  return { number, ...nothing, tornSizeBytes: 0, reached: [], life: 'orphaned', fault: 'missing' }
}

/** The numbers in order, and of each gap between them the first: however wide somebody made it. */
function withGaps(numbers: readonly number[]): number[] {
  const sorted = [...new Set(numbers)].sort((a, b) => a - b)
  const next = sorted.map((number) => number + 1)
  const gaps = [1, ...next].filter((number) => number < (sorted.at(-1) ?? 0) && !sorted.includes(number))
  return [...sorted, ...gaps].sort((a, b) => a - b)
}

/** What a chain says was reached under a key. */
export interface Reached {
  readonly key: string
  readonly generation: number
  readonly sensitivity: string
}

const reachedSchema = z.array(
  z.object({ key: z.string(), generation: z.int().min(1), sensitivity: z.string() }),
)

function reachedIn({ entries }: ChainReading): readonly Reached[] {
  const found = new Map<string, Reached>()
  for (const { entry } of entries) {
    if (!entry.action.startsWith('continuity/') || entry.action === closeAction) continue
    for (const each of reachedSchema.safeParse(entry.detail.reached).data ?? [])
      found.set(JSON.stringify([each.key, each.generation, each.sensitivity]), each)
  }
  return [...found.values()]
}
