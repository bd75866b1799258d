import { createHash } from 'node:crypto'
import type { SessionRecovered } from '@tidemark/session-core'

/** Recoveries that a header names: each ended a writer that had not told the one before. */
const recoveredMax = 32

/**
 * The same recoveries as so many records as a header holds. Where they are more, the oldest become one: it says how
 * many they were, where the first of them stood and how many bytes they set aside, and where the log stood at the last.
 * Its digest names all of them, as they stand in the headers of earlier epochs.
 */
export function foldRecovered(records: readonly SessionRecovered[]): readonly SessionRecovered[] {
  const countOver = records.length - recoveredMax
  if (countOver <= 0) return records
  const [first, ...others] = records.slice(0, countOver + 1)
  return first ? [others.reduce(fold, first), ...records.slice(countOver + 1)] : records
}

function fold(before: SessionRecovered, next: SessionRecovered): SessionRecovered {
  const { segment, offset } = before
  const { lastSeq, durableSeq } = next
  // What an operator gave up stays known as such: who reads the session's source asks for it.
  const isDecided = [before, next].some(({ evidence }) => evidence === 'operator')
  return {
    reason: `folded:${countOf(before) + countOf(next)}`,
    segment,
    offset,
    sizeBytes: before.sizeBytes + next.sizeBytes,
    digest: createHash('sha256')
      .update(JSON.stringify([before, next]))
      .digest('hex'),
    lastSeq,
    durableSeq,
    evidence: isDecided ? 'operator' : 'records',
  }
}

/** The recoveries that a record is of. */
function countOf({ reason }: SessionRecovered): number {
  return Number(/^folded:(\d+)$/.exec(reason)?.[1] ?? 1)
}
