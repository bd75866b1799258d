import { z } from 'zod'
import { findOpening, firstIncarnation, holds, readChain, type ChainReading } from './audit-chain.ts'
import { closeAction, type ChainHead } from './audit-entry.ts'
import { Acknowledged } from './acknowledged.ts'
import { followIn, isClosed } from './incarnation.ts'
import type { Life, LifeFacts } from './orphan.ts'
import type { Rules } from './rules.ts'
import type { ScopeWitness } from './scope-witness.ts'
import type { AuditShelf } from './store.ts'
import type { Witness } from './witness.ts'

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
  NonNullable<ChainReading['fault']>['kind'] | 'missing' | 'truncated' | 'exchanged' | 'stray'

export interface RecordsPlace {
  readonly storeId: string
  readonly scope: string
  readonly rules: Pick<Rules, 'judgeLife'>
}

/** An incarnation before all chains were read that may acknowledge it. */
export type Found = Omit<Recorded, 'life'> & Pick<LifeFacts, 'isHeld' | 'hasClosed'>

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
    const acknowledged = new Acknowledged()
    const found = new Map<number, Found>()
    const { numbers: followed, strays } = followIn(await this.shelf.numbers(), heads)
    for (const number of [...strays, ...followed].reverse()) {
      const { reading, isHeld } = await this.read(number)
      const isStray = number > (followed.at(-1) ?? 0)
      const fault = isStray ? 'stray' : wanted.faultIn(number, reading)
      const each = foundIn(number, reading, { isHeld, fault })
      found.set(number, each)
      if (isStray) continue
      // What stands in a chain that does not hold, anybody may have written there.
      if (each.fault === undefined) acknowledged.addFrom(reading)
      const { links, ended } = findOpening(reading) ?? { links: [] }
      for (const link of links) wanted.add({ ...link, isOver: ended?.includes(link.number) })
    }
    const numbers = withGaps([...found.keys(), ...wanted.numbers])
    return numbers.map((number) => {
      const { isHeld, hasClosed, isAcknowledged, ...rest } = acknowledged.judge(
        found.get(number) ?? missing(number),
      )
      return { ...rest, life: this.place.rules.judgeLife({ isHeld, hasClosed, isAcknowledged }) }
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

type WantedHead = ChainHead & { readonly isOver?: boolean | undefined }

/** Heads that chains must hold, until they were looked for. */
class WantedHeads {
  private readonly byNumber = new Map<number, Map<string, WantedHead>>()

  get numbers(): readonly number[] {
    return [...this.byNumber.keys()]
  }

  add({ number, index, digest, isOver = false }: WantedHead & { readonly number: number }): void {
    const heads = this.byNumber.get(number) ?? new Map<string, WantedHead>()
    this.byNumber.set(number, heads.set(`${index} ${digest} ${isOver}`, { index, digest, isOver }))
  }

  /** What others know of a chain, and it does not hold: all that it held then, and nothing after its end. */
  faultIn(number: number, reading: ChainReading): ChainFaultKind | undefined {
    const heads = [...(this.byNumber.get(number)?.values() ?? [])]
    this.byNumber.delete(number)
    const { length } = reading.entries
    const missed = heads.find((head) => !holds(reading, head))
    if (missed) return length <= missed.index ? 'truncated' : 'exchanged'
    return heads.some(({ index, isOver }) => isOver && length > index + 1) ? 'extended' : undefined
  }
}

function foundIn(
  number: number,
  reading: ChainReading,
  { isHeld, fault }: { readonly isHeld: boolean; readonly fault: ChainFaultKind | undefined },
): Found {
  const { entries, tornSizeBytes } = reading
  const first = entries[0]?.entry
  return {
    number,
    incarnation: first?.incarnation,
    principal: findOpening(reading)?.principal,
    startedAt: first?.time ?? null,
    entriesCount: entries.length,
    tornSizeBytes,
    reached: reachedIn(reading),
    isHeld,
    // What was written after an end does not end it.
    hasClosed: isClosed(reading) && fault !== 'extended',
    fault: reading.fault?.kind ?? fault,
  }
}

function missing(number: number): Found {
  const nothing = { incarnation: undefined, principal: undefined, startedAt: null, entriesCount: 0 }
  return {
    number,
    ...nothing,
    tornSizeBytes: 0,
    reached: [],
    isHeld: false,
    hasClosed: false,
    fault: 'missing',
  }
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
