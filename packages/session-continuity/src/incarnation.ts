import { randomUUID } from 'node:crypto'
import type { JsonObject } from '@tidemark/session-core'
import { closeAction, lineOf, sealEntry, type ChainHead, type SealedEntry } from './audit-entry.ts'
import { findOpening, headOf, holds, readChain, type ChainLink, type ChainReading } from './audit-chain.ts'
import { sha256 } from './digest.ts'
import { follow, type Followed } from './numbering.ts'
import { reasonOf, refusal } from './refusal.ts'
import type { Rules } from './rules.ts'
import type { ScopeWitness } from './scope-witness.ts'
import type { AuditShelf, AuditWriter } from './store.ts'
import type { WitnessPatch } from './witness.ts'

/** Others who begin at the same time, one after the other. */
const triesMax = 1_000

export interface Birth {
  readonly shelf: AuditShelf
  readonly witness: ScopeWitness
  readonly storeId: string
  readonly scope: string
  readonly key: string
  readonly now: () => number
  readonly action: `continuity/${string}`
  readonly detail: JsonObject
  /** Goes on although an earlier chain is damaged, and says so in its first entry. */
  readonly isTolerant?: boolean
  readonly rules: Pick<Rules, 'numberAfter'>
}

interface Own {
  readonly birth: Birth
  readonly number: number
  readonly writer: AuditWriter
  readonly release: () => Promise<void>
  readonly settled: readonly number[]
}

interface Predecessors {
  readonly links: readonly ChainLink[]
  readonly settled: readonly number[]
  readonly broken: readonly number[]
  readonly strays: readonly number[]
}

/**
 * One opening by one process, with an audit chain of its own.
 *
 * 1. Its id and its file are fresh; its first entry links to the heads of those before it.
 * 2. Until it ends it holds a name that the kernel frees when the process dies.
 * 3. An entry is durable when `append` resolves. After one that was not, there is none.
 */
export class Incarnation {
  private isEnded = false

  private constructor(
    private readonly own: Own,
    private last: SealedEntry,
  ) {}

  get id(): string {
    return this.last.entry.incarnation
  }

  static async begin(birth: Birth): Promise<Incarnation> {
    const id = randomUUID()
    const release = await birth.shelf.hold(id)
    try {
      for (let tries = 0; tries < triesMax; tries++) {
        const { number, ...before } = await predecessorsOf(birth)
        const first = sealFirst(id, number, { birth, before })
        const patch = patchOf(first, { number, settled: before.settled })
        await birth.witness.refuseFull(birth.key, patch, { isSalvaged: birth.isTolerant ?? false })
        const writer = await birth.shelf.create(number, lineOf(first))
        if (writer) return new Incarnation({ birth, number, writer, release, settled: before.settled }, first)
        await birth.shelf.pause()
      }
      throw refusal('contended', 'others begin incarnations of this scope without a pause')
    } catch (error) {
      await release()
      throw error
    }
  }

  /** What the witness has to know of it: its head, and that those before it are linked to. */
  get patch(): WitnessPatch {
    return patchOf(this.last, this.own)
  }

  async append(action: string, detail: JsonObject): Promise<void> {
    const { birth, writer } = this.own
    const sealed = sealEntry(headOfSealed(this.last), {
      incarnation: this.id,
      time: birth.now(),
      action,
      detail,
    })
    await writer.append(lineOf(sealed), { isLast: action === closeAction })
    this.last = sealed
  }

  /** A clean end. */
  async close(detail: JsonObject = {}): Promise<void> {
    if (this.isEnded) return
    try {
      await this.append(closeAction, detail)
      await this.own.birth.witness.patch(this.patch)
    } finally {
      await this.abandon()
    }
  }

  /** The end of one that came to nothing. A refusal ends it cleanly; after anything else it stays an orphan. */
  async abort(error: unknown): Promise<void> {
    const reason = reasonOf(error)
    if (reason === undefined || reason === 'unavailable') await this.abandon()
    else await this.close({ refused: reason })
  }

  /** Ends without closing: from then on it is an orphan. */
  async abandon(): Promise<void> {
    if (this.isEnded) return
    this.isEnded = true
    try {
      await this.own.writer.close()
    } finally {
      await this.own.release()
    }
  }
}

function patchOf(
  { entry, digest }: SealedEntry,
  { number, settled }: Pick<Own, 'number' | 'settled'>,
): WitnessPatch {
  const { index, incarnation } = entry
  return { head: { number, value: { index, digest, incarnation } }, settled }
}

/** Whether a chain ends with a clean end. */
export function isClosed({ entries, fault }: ChainReading): boolean {
  return fault === undefined && entries.at(-1)?.entry.action === closeAction
}

function sealFirst(
  id: string,
  number: number,
  { birth, before }: { readonly birth: Birth; readonly before: Predecessors },
): SealedEntry {
  const { storeId, scope, key, now, action, detail } = birth
  const links = before.links.map((link) => ({ ...link }))
  const broken = before.broken.length > 0 ? { broken: [...before.broken] } : {}
  const ended = [...before.settled]
  const strays = before.strays.length > 0 ? { strays: digestOf(before.strays) } : {}
  const opening = { number, scope, store: storeId, key, links, ended, ...broken, ...strays, ...detail }
  return sealEntry(undefined, { incarnation: id, time: now(), action, detail: opening })
}

/**
 * The heads of what came before. The witness is read first: what it knows must be there.
 * @throws SessionError `CORRUPT` (`damaged`) when a chain was cut or changed.
 */
async function predecessorsOf(birth: Birth): Promise<Predecessors & { readonly number: number }> {
  const { shelf, witness, storeId, scope, isTolerant = false } = birth
  const { heads } = isTolerant ? await witness.salvage() : await witness.read()
  const { numbers: followed, strays } = followIn(await shelf.numbers(), heads)
  const highest = followed.at(-1) ?? 0
  let isKnown = strays.length === 0 || isTolerant
  const links: ChainLink[] = []
  const settled: number[] = []
  const broken: number[] = []
  const numbers = new Set([...Object.keys(heads).map(Number), ...(highest > 0 ? [highest] : [])])
  for (const number of [...numbers].sort((a, b) => a - b)) {
    const place = { number, scope, storeId }
    const read = async (): Promise<ChainReading> => readChain((await shelf.read(number)) ?? noBytes, place)
    const incarnation = heads[number]?.incarnation ?? (await read()).entries[0]?.entry.incarnation
    // Asked before it is read: what a dead one wrote is all that there will be.
    const isOver = incarnation === undefined || !(await shelf.isHeld(incarnation))
    const reading = await read()
    isKnown ||= findOpening(reading)?.strays === digestOf(strays)
    const witnessed: ChainHead | undefined = heads[number]
    if (reading.fault || (witnessed && !holds(reading, witnessed))) {
      if (!isTolerant) throw refusal('damaged', `audit chain ${number} was cut or changed`, { number })
      broken.push(number)
    }
    const head = headOf(reading)
    if (head && incarnation !== undefined) links.push({ number, incarnation, ...head })
    if (!isOver) continue
    settled.push(number)
    if (incarnation !== undefined) await shelf.forget(incarnation)
  }
  if (!isKnown)
    throw refusal('damaged', 'an audit file has a number that nobody counted to', { number: strays[0] })
  const number = birth.rules.numberAfter({ highest, witnessed: Object.keys(heads).map(Number) })
  return { number, links, settled, broken, strays }
}

/** The chains to go by. The witness knows how far they were counted. */
export function followIn(listed: readonly number[], heads: Readonly<Record<string, ChainHead>>): Followed {
  const known = Object.keys(heads).map(Number)
  return follow(listed, known.length > 0 ? Math.max(...known) : undefined)
}

function digestOf(numbers: readonly number[]): string {
  return sha256(JSON.stringify(numbers))
}

const noBytes = new Uint8Array()

function headOfSealed({ entry, digest }: SealedEntry): ChainHead {
  return { index: entry.index, digest }
}
