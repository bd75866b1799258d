import { z } from 'zod'
import { numberMax } from './numbering.ts'
import type { Labels } from './label.ts'

/** What a credential must reach to go on with a state. */
export interface CredentialBounds {
  readonly assurance: number
  readonly newestAuthenticatedAt: number
  readonly credentialsAfter: number
}

/** How far a state has come, and what it asks of credentials. */
export interface Reach {
  readonly generation: number
  readonly sensitivity: string
  /** A mark of an earlier format has none. */
  readonly credentials?: CredentialBounds | undefined
}

/** How far the witness saw a state come. */
export interface Mark extends Reach {
  readonly revision: number
  /** The next generation, which somebody was about to write: nothing else starts one. */
  readonly coming?: Reach | undefined
}

const reach = {
  generation: z.int().min(1).max(numberMax),
  sensitivity: z.string().min(1).max(100),
  credentials: z
    .strictObject({
      assurance: z.int().min(0),
      newestAuthenticatedAt: z.int().min(0),
      credentialsAfter: z.int().min(-1),
    })
    .optional(),
}

export const markSchema = z.strictObject({
  ...reach,
  revision: z.int().min(1).max(numberMax),
  coming: z.strictObject(reach).optional(),
})

export function reachOf({
  generation,
  sensitivity,
  assurance,
  newestAuthenticatedAt,
  credentialsAfter,
}: Pick<Reach, 'generation' | 'sensitivity'> & CredentialBounds): Reach {
  const credentials = { assurance, newestAuthenticatedAt, credentialsAfter }
  return { generation, sensitivity, credentials }
}

/** Of two marks the later generation, and within one the higher of everything; what has come is not coming. */
export function mergeMarks(old: Mark, value: Mark, labels: Labels): Mark {
  const { generation, sensitivity, credentials } = furthest(old, value, labels)
  const coming = comingOf(old, value, labels)
  return {
    revision: Math.max(old.revision, value.revision),
    generation,
    sensitivity,
    ...(credentials && { credentials }),
    ...(coming && coming.generation > generation && { coming }),
  }
}

export function isSameMark(a: Mark, b: Mark): boolean {
  const spelled = ({ revision, coming, ...own }: Mark): string =>
    JSON.stringify([
      revision,
      ...[own, coming].map(
        (each) => each && [each.generation, each.sensitivity, each.credentials && boundsIn(each.credentials)],
      ),
    ])
  return spelled(a) === spelled(b)
}

/** Whether a reach, of the same generation, falls short of another one in anything. */
export function isShortOf(reached: Reach, wanted: Reach, labels: Labels): boolean {
  if (labels.isBelow(reached.sensitivity, wanted.sensitivity)) return true
  if (!reached.credentials || !wanted.credentials) return false
  const have = boundsIn(reached.credentials)
  return boundsIn(wanted.credentials).some((bound, at) => (have[at] ?? bound) < bound)
}

function boundsIn({ assurance, newestAuthenticatedAt, credentialsAfter }: CredentialBounds): number[] {
  return [assurance, newestAuthenticatedAt, credentialsAfter]
}

function furthest(one: Reach, other: Reach, labels: Labels): Reach {
  if (one.generation !== other.generation) return one.generation > other.generation ? one : other
  const sensitivity = labels.highest(one.sensitivity, other.sensitivity)
  const credentials = boundsOver(Math.max, one.credentials, other.credentials)
  return { generation: one.generation, sensitivity, credentials }
}

/** Two who are about to start the same generation: whichever comes, is no less than the lower of both. */
function comingOf({ coming: one }: Mark, { coming: other }: Mark, labels: Labels): Reach | undefined {
  if (!one || !other) return one ?? other
  if (one.generation !== other.generation) return one.generation > other.generation ? one : other
  const sensitivity = labels.isBelow(one.sensitivity, other.sensitivity) ? one.sensitivity : other.sensitivity
  const both = one.credentials && other.credentials
  const credentials = both && boundsOver(Math.min, one.credentials, other.credentials)
  return { generation: one.generation, sensitivity, ...(credentials && { credentials }) }
}

/** The highest, or the lowest, of each bound. */
export function boundsOver(
  choose: (...bounds: number[]) => number,
  ...all: readonly (CredentialBounds | undefined)[]
): CredentialBounds | undefined {
  const known = all.filter((each) => each !== undefined)
  if (known.length === 0) return undefined
  return {
    assurance: choose(...known.map((each) => each.assurance)),
    newestAuthenticatedAt: choose(...known.map((each) => each.newestAuthenticatedAt)),
    credentialsAfter: choose(...known.map((each) => each.credentialsAfter)),
  }
}
