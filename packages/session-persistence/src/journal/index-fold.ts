import type { EntryName } from './index-name.ts'
import { linesSizeBytesMax } from './index-list.ts'
import type { Store } from './store.ts'
import type { FoundIndex } from './store-index.ts'
import { lateLine, lineText, type LateLine } from './summary-line.ts'
import { folderNames, type Survey } from './survey.ts'

/** Sessions that one fold looks at: a lost index comes back in the course of some folds. */
const looksMax = 128

export interface Folded {
  readonly lines: readonly LateLine[]
  /** Entries that the lines stand for, or that are of sessions that are gone. */
  readonly settled: readonly EntryName[]
  /** Whether there are more sessions to look at. */
  readonly hasMore: boolean
}

export interface FoldTerms {
  readonly survey: Survey
  /** Sessions that were looked at, and have no line to be kept. */
  readonly passedOver: Set<string>
}

/**
 * What a new list says, and which entries it stands for. The sessions are listed after the index was read: who is not
 * among them was removed since its entries were made. A session about whose line there is any doubt gets none, and so
 * is looked at by every list, unless a look at its log settles it.
 */
export async function foldLines(store: Store, found: FoundIndex, terms: FoldTerms): Promise<Folded> {
  const names = await folderNames(store)
  const present = new Set(names)
  const { entries, lines: before } = found
  const gone = entries.filter(({ folder }) => !present.has(folder))
  const settled = new Set<EntryName>([...found.taken, ...gone])
  const lines = new Map([...before].filter(([folder]) => present.has(folder)))
  const { marked, removed } = marksOf(found)
  let looks = 0
  for (const folder of names) {
    const isDoubtful = removed.has(folder) || (found.marked.has(folder) && !marked.has(folder))
    if (!isDoubtful && (lines.has(folder) || marked.has(folder) || terms.passedOver.has(folder))) continue
    lines.delete(folder)
    const line = looks < looksMax ? await look(store, folder, terms) : undefined
    looks += 1
    if (line) lines.set(folder, line)
    const isNew = line && before.get(folder)?.line?.header.createdAt !== line.line?.header.createdAt
    for (const entry of isDoubtful ? entries : [])
      if (entry.folder === folder && (entry.kind === 'line' || (isNew && entry.epoch === 0)))
        settled.add(entry)
  }
  return { lines: bounded([...lines.values()]), settled: [...settled], hasMore: looks > looksMax }
}

/** `removed`: sessions that somebody removed, or set out to, and that may have been created again. */
function marksOf({ entries }: FoundIndex): Record<'marked' | 'removed', ReadonlySet<string>> {
  const marks = entries.filter(({ kind }) => kind === 'mark')
  const removed = new Set(marks.filter(({ epoch }) => epoch === 0).map(({ folder }) => folder))
  return { marked: new Set(marks.map(({ folder }) => folder)), removed }
}

async function look(
  store: Store,
  folder: string,
  { survey, passedOver }: FoldTerms,
): Promise<LateLine | undefined> {
  const seen = await survey.look(store, folder)
  const text = seen?.line && seen.isDurable ? lineText(seen.line) : undefined
  if (text === undefined) passedOver.add(folder)
  return text === undefined ? undefined : lateLine(text)
}

/** As many of the newest lines as a list can hold, in the order of lists, so that sorting them costs little. */
function bounded(lines: readonly LateLine[]): readonly LateLine[] {
  let sizeBytes = 0
  return [...lines]
    .sort((a, b) => b.activeAt - a.activeAt)
    .filter((line) => (sizeBytes += line.sizeBytes) < linesSizeBytesMax)
}
