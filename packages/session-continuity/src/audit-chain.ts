import { z } from 'zod'
import {
  closeAction,
  findEntry,
  firstPrevious,
  isIntact,
  type ChainHead,
  type SealedEntry,
} from './audit-entry.ts'
import { digestPattern } from './digest.ts'

/** What is wrong with a chain, and from which entry on. */
export interface ChainFault {
  readonly kind: 'spelling' | 'content' | 'gap' | 'link' | 'foreign' | 'empty' | 'extended'
  readonly index: number
}

/** What was read of one incarnation's file. */
export interface ChainReading {
  /** Up to the first fault. */
  readonly entries: readonly SealedEntry[]
  /** Bytes at the end that a crash left of an entry that was not acknowledged. */
  readonly tornSizeBytes: number
  readonly fault?: ChainFault
}

export interface ChainPlace {
  readonly number: number
  readonly scope: string
  readonly storeId: string
}

/** A head of another chain, as it was when this one began. */
export interface ChainLink extends ChainHead {
  readonly number: number
  readonly incarnation: string
}

const openingSchema = z.object({
  number: z.int().min(1),
  scope: z.string(),
  store: z.string(),
  key: z.string(),
  principal: z.string(),
  links: z.array(
    z.strictObject({
      number: z.int().min(1),
      incarnation: z.string(),
      index: z.int().min(0),
      digest: z.string().regex(digestPattern),
    }),
  ),
  /** Numbers of those that were over by then: the heads that are linked to are their ends. */
  ended: z.array(z.int()).optional(),
  /** The digest of the numbers that nobody counted to, where there were any and somebody went on all the same. */
  strays: z.string().optional(),
})

/** What the first entry of a chain says of it. */
export type Opening = z.output<typeof openingSchema>

export function findOpening({ entries: [first] }: Pick<ChainReading, 'entries'>): Opening | undefined {
  return first && openingSchema.safeParse(first.entry.detail).data
}

/** Reads a chain through: spelling, contents, numbering and links of every entry. */
export function readChain(bytes: Uint8Array, place: ChainPlace): ChainReading {
  const lines = linesOf(bytes)
  const rest = lines.pop() ?? Buffer.alloc(0)
  const entries: SealedEntry[] = []
  for (const [index, line] of lines.entries()) {
    const judged = judgeLine(line, entries.at(-1), index)
    if (!('kind' in judged)) {
      entries.push(judged)
      continue
    }
    // One entry is written at a time: only the last may be a hole that a power cut left.
    const isTorn = index === lines.length - 1 && index > 0 && rest.length === 0 && line.includes(0)
    return isTorn ? { entries, tornSizeBytes: line.length + 1 } : { entries, tornSizeBytes: 0, fault: judged }
  }
  const opening = findOpening({ entries })
  if (entries.length === 0) return { entries, tornSizeBytes: 0, fault: { kind: 'empty', index: 0 } }
  const { number, scope, storeId } = place
  const isOwn = opening?.number === number && opening.scope === scope && opening.store === storeId
  const fault: ChainFault = { kind: isOwn ? 'link' : 'foreign', index: 0 }
  // A chain links to what came before it.
  const holdsUp = isOwn && opening.links.every((link) => link.number < number)
  return { entries, tornSizeBytes: rest.length, ...(!holdsUp && { fault }) }
}

/** The incarnation that a file begins with; the rest of it is not looked at. */
export function firstIncarnation(bytes: Uint8Array): string | undefined {
  const end = bytes.indexOf(10)
  return end === -1 ? undefined : findEntry(Buffer.from(bytes.subarray(0, end)).toString())?.entry.incarnation
}

/** Whether a chain holds an entry: a shorter one was cut, another one was exchanged. */
export function holds({ entries }: ChainReading, { index, digest }: ChainHead): boolean {
  return entries[index]?.digest === digest
}

export function headOf({ entries }: Pick<ChainReading, 'entries'>): ChainHead | undefined {
  const last = entries.at(-1)
  return last && { index: last.entry.index, digest: last.digest }
}

function judgeLine(line: Buffer, before: SealedEntry | undefined, index: number): SealedEntry | ChainFault {
  const sealed = findEntry(line.toString())
  if (!sealed || !Buffer.from(line.toString()).equals(line)) return { kind: 'spelling', index }
  if (!isIntact(sealed)) return { kind: 'content', index }
  const { entry } = sealed
  if (entry.index !== index) return { kind: 'gap', index }
  if (entry.previous !== (before?.digest ?? firstPrevious)) return { kind: 'link', index }
  if (before && entry.incarnation !== before.entry.incarnation) return { kind: 'foreign', index }
  if (before?.entry.action === closeAction) return { kind: 'extended', index }
  return sealed
}

/** The lines without their line feeds, and what follows the last one. */
function linesOf(bytes: Uint8Array): Buffer[] {
  const all = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  const lines: Buffer[] = []
  let from = 0
  for (let at = all.indexOf(10); at !== -1; at = all.indexOf(10, from)) {
    lines.push(all.subarray(from, at))
    from = at + 1
  }
  return [...lines, all.subarray(from)]
}
