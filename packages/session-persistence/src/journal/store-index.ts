import { join } from 'node:path'
import { isSessionError } from '@tidemark/session-core'
import { IndexLists, noList, type IndexList } from './index-list.ts'
import { entriesIn, indexPath, parseIndexName, type EntryName, type IndexName } from './index-name.ts'
import { hasReason, isSystemFailure, type JournalPort } from './port.ts'
import { findBytes, refuseForgeable } from './private-file.ts'
import type { Store } from './store.ts'
import { lateLine, type LateLine } from './summary-line.ts'

/** What the index says, at one moment. */
export interface FoundIndex {
  /** The list that was read, 0 where there is none. */
  readonly number: number
  /** The highest number that any list has, also one that is broken. */
  readonly lastNumber: number
  /** The newest line of each session that has one. */
  readonly lines: ReadonlyMap<string, LateLine>
  /** Sessions whose line may be older than their log. */
  readonly marked: ReadonlySet<string>
  /** What there is of single sessions. */
  readonly entries: readonly EntryName[]
  /** Lists that a newer one has replaced. */
  readonly outdated: readonly string[]
  /** Those of the entries that are in `lines`, or in a newer line of the same session. */
  readonly taken: readonly EntryName[]
}

/** How often an index that changes under the reader is read anew. */
const roundsMax = 8

const lineFileSizeBytesMax = 8_192

/** Reads what the index says. */
export class StoreIndex {
  private readonly lists = new IndexLists()

  /** What the index says to a list, which can do without. */
  async find(store: Store): Promise<FoundIndex> {
    try {
      return await this.read(store)
    } catch (error) {
      if (!isSessionError(error) && !isSystemFailure(error)) throw error
      return nothing
    }
  }

  /**
   * Names are listed before anything is read, and whoever writes removes a name only when what it stood for stands
   * elsewhere. So a name that is gone when it is read means: begin anew.
   */
  async read(store: Store): Promise<FoundIndex> {
    const path = indexPath(store)
    for (let round = 1; round < roundsMax; round++) {
      const found = await this.readOnce(store.port, path, 'all')
      if (found) return found
    }
    return (await this.readOnce(store.port, path, 'some')) ?? nothing
  }

  private async readOnce(
    port: JournalPort,
    path: string,
    wanted: 'all' | 'some',
  ): Promise<FoundIndex | undefined> {
    const names = await listTwice(port, path)
    const entries = entriesIn(names)
    const marked = new Set(entries.filter(({ kind }) => kind === 'mark').map(({ folder }) => folder))
    const gathered: Gathered[] = []
    for (const entry of entries.filter(({ kind }) => kind === 'line')) {
      const found = await readEntry(port, join(path, entry.name))
      if (found === 'missing' && wanted === 'all') return undefined
      if (found === 'missing' || found === 'broken') marked.add(entry.folder)
      else gathered.push({ entry, line: found })
    }
    const numbers = names.filter((name) => name.kind === 'list').sort((a, b) => b.number - a.number)
    const list = await this.readNewest(port, path, numbers)
    if (list === undefined && wanted === 'all') return undefined
    const { lines, taken } = merged(list ?? noList, gathered, marked)
    const outdated = numbers.filter(({ number }) => number !== list?.number).map(({ name }) => name)
    return {
      number: list?.number ?? 0,
      lastNumber: numbers[0]?.number ?? 0,
      lines,
      marked,
      entries,
      outdated,
      taken,
    }
  }

  /** An older list is no substitute for a broken one: nobody marks what the newer one has in its place. */
  private async readNewest(
    port: JournalPort,
    path: string,
    [newest]: readonly Extract<IndexName, { kind: 'list' }>[],
  ): Promise<IndexList | undefined> {
    if (newest === undefined) return noList
    const found = await this.lists.read(port, join(path, newest.name), newest.number)
    if (found === 'missing') return undefined
    return found === 'broken' ? noList : found
  }
}

const nothing: FoundIndex = {
  number: 0,
  lastNumber: 0,
  lines: new Map(),
  marked: new Set(),
  entries: [],
  outdated: [],
  taken: [],
}

interface Gathered {
  readonly entry: EntryName
  readonly line: LateLine
}

/**
 * The newest line of each session: that of the highest epoch. Epochs begin anew where an id is used again after a
 * removal, so lines of sessions that were not created at the same time say nothing of each other.
 */
function merged(
  list: IndexList,
  gathered: readonly Gathered[],
  marked: Set<string>,
): Pick<FoundIndex, 'lines' | 'taken'> {
  if (gathered.length === 0) return { lines: list.lines, taken: [] }
  const lines = new Map(list.lines)
  for (const { entry, line: late } of gathered) {
    const [line, other] = [late.line, lines.get(entry.folder)?.line]
    if (other && other.header.createdAt !== line?.header.createdAt) marked.add(entry.folder)
    if (other === undefined || other.epoch <= (line?.epoch ?? 0)) lines.set(entry.folder, late)
  }
  return { lines, taken: gathered.map(({ entry }) => entry) }
}

/**
 * The names in the folder. It is not read at one moment: what takes another name meanwhile may be missed under both,
 * but not twice.
 */
async function listTwice(port: JournalPort, path: string): Promise<readonly IndexName[]> {
  try {
    const stat = await port.stat(path)
    if (stat.kind !== 'folder') return []
    refuseForgeable(port, stat, 'the index of the journal')
    const names = new Set([...(await port.readdir(path)), ...(await port.readdir(path))])
    return [...names].map(parseIndexName)
  } catch (error) {
    if (!hasReason(error, 'ENOENT', 'ENOTDIR')) throw error
    return []
  }
}

async function readEntry(port: JournalPort, path: string): Promise<LateLine | 'missing' | 'broken'> {
  try {
    const bytes = await findBytes(port, path, lineFileSizeBytesMax)
    if (bytes === undefined) return 'missing'
    return lateLine(bytes.toString().replace(/\n$/, '')) ?? 'broken'
  } catch (error) {
    if (!hasReason(error, 'ELOOP')) throw error
    return 'broken'
  }
}
