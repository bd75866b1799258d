import { z } from 'zod'
import { findOpening, holds, readChain, type ChainReading, type Opening } from './audit-chain.ts'
import { closeAction, isClosed } from './incarnation.ts'
import type { Life } from './orphan.ts'
import type { ScopeWitness } from './scope-witness.ts'
import type { AuditShelf } from './store.ts'
import type { Witness } from './witness.ts'

/** The action of whoever acknowledges an orphan. */
export const acknowledgeAction = 'continuity/acknowledge'

/** One incarnation, as its audit file and the kernel tell of it. */
export interface Recorded {
  readonly number: number
  readonly incarnation: string | undefined
  readonly opening: Opening | undefined
  readonly reading: ChainReading
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

/** All audit chains of a scope, each verified by itself, against the chains that link to it, and the witness. */
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

  private async against({ heads }: Witness): Promise<readonly Recorded[]> {
    const found = new Map<number, { reading: ChainReading; isHeld: boolean }>()
    for (const number of await this.shelf.numbers()) found.set(number, await this.read(number))
    const readings = [...found.values()].map(({ reading }) => reading)
    const acknowledged = acknowledgedIn(readings)
    const openings = readings.flatMap((reading) => findOpening(reading) ?? [])
    const wanted = [
      ...Object.entries(heads).map(([number, head]) => ({ number: Number(number), ...head })),
      ...openings.flatMap(({ links }) => links),
    ]
    const known = [...found.keys(), ...wanted.map(({ number }) => number)]
    return withGaps(known).map((number): Recorded => {
      const { reading, isHeld } = found.get(number) ?? { reading: nothing, isHeld: false }
      const incarnation = reading.entries[0]?.entry.incarnation
      const missed = wanted.find((head) => head.number === number && !holds(reading, head))
      const cut = missed && (reading.entries.length <= missed.index ? 'truncated' : 'exchanged')
      const fault = found.has(number) ? (reading.fault?.kind ?? cut) : 'missing'
      const isKnown = incarnation !== undefined && acknowledged.has(incarnation)
      const ended = isClosed(reading) ? 'closed' : isKnown ? 'acknowledged' : 'orphaned'
      const life: Life = isHeld ? 'running' : ended
      return { number, incarnation, opening: findOpening(reading), reading, life, fault }
    })
  }

  /** Asked before it is read: one that ended cleanly in between is not taken for an orphan. */
  private async read(number: number): Promise<{ reading: ChainReading; isHeld: boolean }> {
    const place = { ...this.place, number }
    const read = async (): Promise<ChainReading> =>
      readChain((await this.shelf.read(number)) ?? new Uint8Array(), place)
    const incarnation = (await read()).entries[0]?.entry.incarnation
    const isHeld = incarnation !== undefined && (await this.shelf.isHeld(incarnation))
    return { reading: await read(), isHeld }
  }
}

/** The numbers in order, and of each gap between them the first: however wide somebody made it. */
function withGaps(numbers: readonly number[]): number[] {
  const sorted = [...new Set(numbers)].sort((a, b) => a - b)
  const next = sorted.map((number) => number + 1)
  const gaps = [1, ...next].filter((number) => number < (sorted.at(-1) ?? 0) && !sorted.includes(number))
  return [...sorted, ...gaps].sort((a, b) => a - b)
}

/** Ids of incarnations that somebody acknowledged. */
function acknowledgedIn(readings: readonly ChainReading[]): Set<unknown> {
  const entries = readings.flatMap((reading) => reading.entries)
  return new Set(
    entries
      .filter(({ entry }) => entry.action === acknowledgeAction)
      .map(({ entry }) => entry.detail.incarnation),
  )
}

const nothing: ChainReading = { entries: [], tornSizeBytes: 0 }

/** What the chains say was reached under a key. */
export function reachedIn(
  readings: readonly ChainReading[],
  key: string,
): { readonly generation: number; readonly sensitivity: string }[] {
  return readings
    .flatMap(({ entries }) => entries)
    .filter(({ entry }) => entry.action.startsWith('continuity/') && entry.action !== closeAction)
    .flatMap(({ entry }) => reachedSchema.safeParse(entry.detail.reached).data ?? [])
    .filter((each) => each.key === key)
}

const reachedSchema = z.array(
  z.object({ key: z.string(), generation: z.int().min(1), sensitivity: z.string() }),
)
