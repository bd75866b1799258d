import type { Replacement } from '../definition.ts'
import { itemsOf, listOf, type ChunkedList } from '../list.ts'
import type { Entry } from './entry.ts'

/**
 * Puts one entry in the place of those that stand wholly inside the range. An entry that the range cuts through
 * stays whole, since half of it would split a call from its result. Where nothing is inside, nothing changes.
 */
export function replaceRange(entries: ChunkedList<Entry>, replacement: Replacement): ChunkedList<Entry> {
  const { from, through, messages } = replacement
  const kept: Entry[] = []
  let place = -1
  for (const entry of itemsOf(entries)) {
    const inside = entry.seq >= from && entry.through <= through
    if (!inside) kept.push(entry)
    else if (place < 0) place = kept.push({ kind: 'message', seq: from, through, messages }) - 1
  }
  return place < 0 ? entries : listOf(kept)
}
