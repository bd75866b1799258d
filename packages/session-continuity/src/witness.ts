import { z } from 'zod'
import type { ChainHead } from './audit-entry.ts'
import { digestPattern } from './digest.ts'
import type { Labels } from './label.ts'
import type { Mark } from './policy-state.ts'
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
}

const head = z.strictObject({
  index: z.int().min(0),
  digest: z.string().regex(digestPattern),
  incarnation: z.string().max(100),
})

const mark = z.strictObject({
  revision: z.int().min(1),
  generation: z.int().min(1),
  sensitivity: z.string().min(1).max(100),
})

export const witnessSchema = z.strictObject({
  marks: z.record(z.string().regex(digestPattern), mark),
  heads: z.record(z.string().regex(/^\d{1,15}$/), head),
})

export const noWitness: Witness = { marks: {}, heads: {} }

export interface WitnessPatch {
  readonly mark?: { readonly key: string; readonly value: Mark }
  readonly head?: { readonly number: number; readonly value: WitnessedHead }
  /** Incarnations that are over, and that a chain which is witnessed links to at their end. */
  readonly settled?: readonly number[]
}

/**
 * The witness with what happened since. Returns the same object when it knew that already.
 * @throws SessionError `BACK_PRESSURE` (`too-many`): it stays small.
 */
export function mergeWitness(before: Witness, patch: WitnessPatch, labels: Labels): Witness {
  const marks = patch.mark ? withMark(before.marks, patch.mark, labels) : before.marks
  const added = patch.head ? withHead(before.heads, patch.head) : before.heads
  const heads = without(added, patch.settled ?? [])
  if (marks === before.marks && heads === before.heads) return before
  if (Object.keys(marks).length > marksMax)
    throw refusal('too-many', `a scope has at most ${marksMax} principals`)
  if (Object.keys(heads).length > headsMax)
    throw refusal('too-many', `a scope has at most ${headsMax} living incarnations`)
  return { marks, heads }
}

/** Of two marks the later generation, and within one the higher label. */
function withMark(
  marks: Witness['marks'],
  { key, value }: { readonly key: string; readonly value: Mark },
  labels: Labels,
): Witness['marks'] {
  const old = marks[key]
  if (!old) return { ...marks, [key]: value }
  const later = old.generation > value.generation ? old : value
  const isSame = old.generation === value.generation
  const sensitivity = isSame ? labels.highest(old.sensitivity, value.sensitivity) : later.sensitivity
  const merged = { ...later, sensitivity, revision: Math.max(old.revision, value.revision) }
  const isKnown =
    merged.revision === old.revision &&
    merged.generation === old.generation &&
    merged.sensitivity === old.sensitivity
  return isKnown ? marks : { ...marks, [key]: merged }
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
