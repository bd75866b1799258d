import { listNames } from './listing.ts'
import { firstToOf, type SegmentHeader } from './header.ts'
import type { SessionFolder } from './segment-file.ts'
import { segmentsIn, type SegmentName } from './segment-name.ts'
import { findHeaderIn } from './segment-start.ts'

export type FoundHeader = NonNullable<Awaited<ReturnType<typeof findHeaderIn>>>

/** A segment of a log, whether or not it is whole. */
export interface Part {
  readonly name: SegmentName
  /** Absent where it cannot be read. */
  readonly found: FoundHeader | undefined
  /** What it holds from this seq on is not part of the log: later segments go on from before. */
  readonly before: number
  /** Whether the header of the one that goes on from it says so: otherwise it may be less. */
  readonly isSealed: boolean
}

/**
 * The segments of a session that make up its log as far as headers tell, oldest first: one that a later segment does
 * not go on from is beside it.
 */
export async function findParts(folder: SessionFolder): Promise<readonly Part[]> {
  const names = segmentsIn(await listNames(folder))
  const parts: Part[] = []
  let before = Infinity
  let later: SegmentHeader | undefined
  for (const [index, name] of names.entries()) {
    const { segment } = later?.predecessor ?? {}
    const isBeside = name.name !== segment && names.some((each, at) => at > index && each.name === segment)
    if (isBeside) continue
    const found = await findHeaderIn(folder, name)
    if (found && found.header.session.id !== folder.id) continue
    const isSealed = name.name === segment
    parts.push({ name, found, before: Math.min(before, endBefore(later, name)), isSealed })
    before = Math.min(before, later?.firstSeq ?? Infinity)
    later = found?.header
  }
  return parts.reverse()
}

/** What a later segment wrote again stands in the one that it goes on from, too: behind its seal. */
function endBefore(later: SegmentHeader | undefined, { name }: SegmentName): number {
  if (later === undefined) return Infinity
  const { predecessor, carried, firstSeq } = later
  return predecessor?.segment === name && carried ? firstToOf(later) + 1 : firstSeq
}
