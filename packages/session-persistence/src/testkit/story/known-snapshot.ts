import type { Snapshot, Tail } from '../../storage.ts'
import type { Problem } from '../finding.ts'
import { problem } from './found-log.ts'
import type { KnownSession } from './ledger.ts'

/** A snapshot that was handed over: it may be there, as a whole, or not. */
export interface KnownSnapshot {
  readonly at: Tail
  /** Its content. No other snapshot has the same. */
  readonly text: string
}

/** Bytes that whoever takes a snapshot for text, or for lines, does not give back. */
const awkward = '\u0000\n\ufffd{"commit":{'

export function snapshotAt(at: Tail, name: string): KnownSnapshot {
  return { at, text: `${name} at ${at.seq} ${at.digest} ${awkward}` }
}

export function storedOf({ at, text }: KnownSnapshot): Snapshot {
  return { at, content: Buffer.from(text) }
}

export interface Wanted {
  readonly through: number
  /** The seq of a snapshot that must be there. */
  readonly shelved?: number | undefined
}

/** What is wrong with a snapshot as it was loaded, or with there being none. */
export function compareSnapshot(
  { snapshots }: Pick<KnownSession, 'snapshots'>,
  found: Snapshot | undefined,
  { through, shelved = -1 }: Wanted,
): Problem | undefined {
  const leastSeq = shelved <= through ? shelved : -1
  if (found === undefined)
    return leastSeq === -1 ? undefined : problem('lost', `the snapshot of seq ${leastSeq}`)
  const { seq, digest } = found.at
  const text = Buffer.from(found.content).toString()
  const isKnown = snapshots.some(
    (each) => each.text === text && each.at.seq === seq && each.at.digest === digest,
  )
  if (!isKnown) return problem('altered', `the snapshot of seq ${seq} is none that was saved of this log`)
  if (seq > through) return problem('altered', `a snapshot of seq ${seq}, and ${through} was the last wanted`)
  if (seq < leastSeq) return problem('lost', `the snapshot of seq ${leastSeq}: one of ${seq} is given`)
  return undefined
}
