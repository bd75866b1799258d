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
  /**
   * Generations that somebody was about to write, those that were announced last: nothing else starts one. Whoever
   * announces one marks first what is written, so that an earlier one is left only for who is slow or died.
   */
  readonly coming?: readonly Reach[] | undefined
}

/** With more of them, and the longest labels, the witness of a full scope would not fit. */
const comingMax = 2

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
  coming: z
    .union([z.array(z.strictObject(reach)).max(comingMax), z.strictObject(reach).transform((only) => [only])])
    .optional(),
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
  const coming = comingOf(old, value, labels).filter((each) => each.generation > generation)
  return {
    revision: Math.max(old.revision, value.revision),
    generation,
    sensitivity,
    ...(credentials && { credentials }),
    ...(coming.length > 0 && { coming: coming.slice(-comingMax) }),
  }
}

export function isSameMark(a: Mark, b: Mark): boolean {
  const spelled = ({ revision, coming = [], ...own }: Mark): string =>
    JSON.stringify([
      revision,
      ...[own, ...coming].map(({ generation, sensitivity, credentials }) => [
        ...[generation, sensitivity, credentials && boundsIn(credentials)],
      ]),
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

/** In the order that they were announced in. */
function comingOf({ coming: before = [] }: Mark, { coming = [] }: Mark, labels: Labels): readonly Reach[] {
  return coming.reduce((all, reach) => {
    const rival = all.find(({ generation }) => generation === reach.generation)
    return [...all.filter((each) => each !== rival), rival ? lowerOf(rival, reach, labels) : reach]
  }, before)
}

/** Two who are about to start the same generation: whichever comes, is no less than the lower of both. */
function lowerOf(one: Reach, other: Reach, labels: Labels): Reach {
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
