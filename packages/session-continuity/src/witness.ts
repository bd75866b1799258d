import { z } from 'zod'
import type { ChainHead } from './audit-entry.ts'
import { digestPattern } from './digest.ts'
import type { Labels } from './label.ts'
import { isSameMark, markSchema, mergeMarks, type Mark, type Reach } from './mark.ts'
import { refusal } from './refusal.ts'

/** Principals that a scope's witness can tell apart. */
export const marksMax = 1_024

/** Incarnations of a scope that live at a time. */
export const headsMax = 256

export interface WitnessedHead extends ChainHead {
  readonly incarnation: string
}

/** The high-water mark of one scope. It only rises. */
export interface Witness {
  /** By continuity key. */
  readonly marks: Readonly<Record<string, Mark>>
  /** By number of the incarnation: of each that no later one has linked to at its end. */
  readonly heads: Readonly<Record<string, WitnessedHead>>
  /** By continuity key: labels that were reached on behalf of principals who have not begun. */
  readonly owed?: Readonly<Record<string, string>> | undefined
}

const head = z.strictObject({
  index: z.int().min(0),
  digest: z.string().regex(digestPattern),
  incarnation: z.string().max(100),
})

export const witnessSchema = z.strictObject({
  marks: z.record(z.string().regex(digestPattern), markSchema),
  heads: z.record(z.string().regex(/^\d{1,15}$/), head),
  owed: z.record(z.string().regex(digestPattern), z.string().min(1).max(100)).optional(),
})

export const noWitness: Witness = { marks: {}, heads: {} }

export interface WitnessPatch {
  readonly mark?: { readonly key: string; readonly value: Mark }
  /** A generation that is about to be written, of a key that has a mark. */
  readonly coming?: { readonly key: string; readonly value: Reach }
  readonly owed?: { readonly key: string; readonly label: string }
  readonly head?: { readonly number: number; readonly value: WitnessedHead }
  /** Incarnations that are over, and that a chain which is witnessed links to at their end. */
  readonly settled?: readonly number[]
}

/**
 * The witness with what happened since. Returns the same object when it knew that already.
 * @throws SessionError `BACK_PRESSURE` (`too-many`): it stays small.
 */
export function mergeWitness(before: Witness, patch: WitnessPatch, labels: Labels): Witness {
  const { coming } = patch
  const known = coming && before.marks[coming.key]
  const announced = known && { key: coming.key, value: { ...known, coming: [coming.value] } }
  const expecting = announced ? withMark(before.marks, announced, labels) : before.marks
  const marks = patch.mark ? withMark(expecting, patch.mark, labels) : expecting
  const added = patch.head ? withHead(before.heads, patch.head) : before.heads
  const heads = without(added, patch.settled ?? [])
  const owed = owedAfter(before, patch.owed, labels)
  if (marks === before.marks && heads === before.heads && owed === before.owed) return before
  if (Object.keys({ ...owed, ...marks }).length > marksMax)
    throw refusal('too-many', `a scope has at most ${marksMax} principals`)
  if (Object.keys(heads).length > headsMax)
    throw refusal('too-many', `a scope has at most ${headsMax} living incarnations`)
  return { marks, heads, ...(owed && { owed }) }
}

/** Whoever has begun is owed nothing: what is reached is written to the state. */
function owedAfter({ marks, owed }: Witness, added: WitnessPatch['owed'], labels: Labels): Witness['owed'] {
  if (!added || marks[added.key]) return owed
  const { [added.key]: known } = owed ?? {}
  const label = labels.highest(added.label, ...(known === undefined ? [] : [known]))
  return label === known ? owed : { ...owed, [added.key]: label }
}

function withMark(
  marks: Witness['marks'],
  { key, value }: { readonly key: string; readonly value: Mark },
  labels: Labels,
): Witness['marks'] {
  const old = marks[key]
  if (!old) return { ...marks, [key]: value }
  const merged = mergeMarks(old, value, labels)
  return isSameMark(merged, old) ? marks : { ...marks, [key]: merged }
}

function withHead(
  heads: Witness['heads'],
  { number, value }: { readonly number: number; readonly value: WitnessedHead },
): Witness['heads'] {
  const old = heads[number]
  return old && old.index >= value.index ? heads : { ...heads, [number]: value }
}

function without(heads: Witness['heads'], settled: readonly number[]): Witness['heads'] {
  const gone = new Set(settled.map(String))
  const left = Object.entries(heads).filter(([number]) => !gone.has(number))
  return left.length === Object.keys(heads).length ? heads : Object.fromEntries(left)
}
