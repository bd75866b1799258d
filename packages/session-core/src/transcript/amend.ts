import type { Amendment } from '../definition.ts'
import { itemAt, lengthOf, replaced, type ChunkedList } from '../list.ts'
import { withCall, type Entry } from './entry.ts'
import { lateWith } from './late.ts'

/**
 * Puts other parts in the place of those of one result; its position, outcome and pairing stay. Where no such result
 * is shown, nothing changes. Searches from the end: what is amended is mostly new.
 */
export function amended(entries: ChunkedList<Entry>, amendment: Amendment): ChunkedList<Entry> {
  for (let index = lengthOf(entries) - 1; index >= 0; index--) {
    const entry = itemAt(entries, index)
    const changed = entry && entryWith(entry, amendment)
    if (changed) return replaced(entries, index, changed)
  }
  return entries
}

function entryWith(entry: Entry, { resultSeq, parts }: Amendment): Entry | undefined {
  if (resultSeq < entry.seq || entry.through < resultSeq) return undefined
  if (entry.kind === 'message') {
    return entry.isLate && entry.seq === resultSeq ? lateWith(entry, parts) : undefined
  }
  // A call reaches to its result, or no further than itself.
  const call = entry.calls.find(({ seq, through }) => through === resultSeq && through !== seq)
  return call && withCall(entry, { ...call, parts })
}
