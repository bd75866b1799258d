import { join } from 'node:path'
import { isSessionError, type SessionErrorCode } from '@tidemark/session-core'
import { selectPage, type SummaryPage } from '../summary.ts'
import { folderName } from './folder-name.ts'
import { foldLines, type FoldTerms } from './index-fold.ts'
import { writeList } from './index-list.ts'
import {
  entriesIn,
  indexPath,
  lineName,
  listName,
  nextListNumber,
  markName,
  parseIndexName,
  tagOf,
  type EntryName,
} from './index-name.ts'
import { hasReason, isSystemFailure, type JournalPort } from './port.ts'
import { createFile, createFilled, ensureFolder } from './private-file.ts'
import type { JournalLease } from './lease.ts'
import type { LeftLog } from './left-log.ts'
import type { Store } from './store.ts'
import { StoreIndex, type FoundIndex } from './store-index.ts'
import { lineText, type SummaryLine } from './summary-line.ts'
import { Survey, folderNames, type PageTerms } from './survey.ts'
import { cleanUp, writeAll } from './writing.ts'

/** Entries of single sessions that may gather before they are taken into the list. */
const entriesMax = 64

/** What fails with another code has changed nothing. */
const doubtful: readonly SessionErrorCode[] = ['STORAGE_FAILED', 'OUTCOME_UNKNOWN', 'FENCED']

/** What says in the index that a session may change. */
export interface Mark {
  readonly folder: string
  readonly epoch: number
  readonly tag: string
}

/**
 * Keeps the index of a store.
 *
 * 1. A session is marked, durably, before an event can be acknowledged whose place in lists its line does not tell. So a
 *    line without a mark is what its log says, through crashes and power cuts.
 * 2. A mark goes when a line stands in its place that was made from durable events, after they were written.
 * 3. What it does beside marking is never missed: lists look at logs instead.
 */
export class IndexWriter {
  private folding: Promise<void> | undefined
  /** Whether the last fold left sessions without a line that it did not look at. */
  private isBehind = false
  /** Entries that it could not take. */
  private leftCount = 0
  private readonly index = new StoreIndex()
  private readonly survey = new Survey(this.index)
  private readonly terms: FoldTerms = { survey: this.survey, passedOver: new Set() }

  /** One page of a list. Writes nothing. */
  async page(store: Store | undefined, terms: PageTerms): Promise<SummaryPage> {
    if (store) return this.survey.page(store, terms)
    selectPage([], terms.after, terms.countMax) // refuses what makes no page
    return { sessions: [] }
  }

  /**
   * Marks the session of a new lease, and settles it when the lease is released.
   * @throws the port's failures; then the lease is released.
   */
  async attend(store: Store, lease: JournalLease, incarnation: string): Promise<void> {
    const mark = { folder: folderName(lease.header.id), epoch: lease.epoch, tag: tagOf(incarnation) }
    const release = lease.release.bind(lease)
    let released: Promise<void> | undefined
    lease.release = () => (released ??= release().then(() => this.settle(store, mark, lease.left)))
    try {
      await this.mark(store, mark)
    } catch (error) {
      await Promise.allSettled([lease.release()])
      throw error
    }
  }

  /** Marks a session while something is done to it that is not a lease's work. */
  async around<T>(store: Store, id: string, work: () => Promise<T>): Promise<T> {
    const mark = { folder: folderName(id), epoch: 0, tag: tagOf(store.port.random(8)) }
    await this.mark(store, mark)
    try {
      return await work()
    } catch (error) {
      if (isSessionError(error) && !doubtful.includes(error.code)) await this.unmark(store, mark)
      throw error
    } finally {
      await this.settle(store, mark)
    }
  }

  private async unmark(store: Store, { folder, epoch, tag }: Mark): Promise<void> {
    await cleanUp(() => store.port.unlink(join(indexPath(store), markName(folder, epoch, tag))))
  }

  /** Resolves when the mark is durable. @throws the port's failures. */
  private async mark(store: Store, mark: Mark): Promise<void> {
    const { port } = store
    const folder = indexPath(store)
    const path = join(folder, markName(mark.folder, mark.epoch, mark.tag))
    try {
      await createMark(store, path)
    } catch (error) {
      if (hasReason(error, 'ENOTDIR')) return // a file of somebody else: nobody reads an index there
      if (!hasReason(error, 'EEXIST')) throw error // it is marked
    }
    await port.syncFolder(folder)
  }

  /** The session is as its log says now, and whoever marked it changes it no more. */
  private async settle(store: Store, mark: Mark, left?: LeftLog): Promise<void> {
    await quietly(async () => {
      const own = markName(mark.folder, mark.epoch, mark.tag)
      let names = await store.port.readdir(indexPath(store))
      if (!names.includes(own)) return // somebody removed the index
      const written = await this.writeLine(store, mark, left)
      if (written) {
        const others = names
          .map(parseIndexName)
          .filter((entry) => isBefore(entry, mark.folder, written.epoch))
        const gone = new Set([own, ...others.map(({ name }) => name)])
        gone.delete(written.name)
        for (const name of gone) await cleanUp(() => store.port.unlink(join(indexPath(store), name)))
        names = [...names.filter((name) => !gone.has(name) && name !== written.name), written.name]
      }
      await this.foldWhenDue(store, mark.tag, names)
    })
  }

  /** A line of an epoch is for its holder to write: a later one has a mark of its own. */
  private async writeLine(store: Store, mark: Mark, left?: LeftLog): Promise<EntryName | undefined> {
    const { folder, tag } = mark
    const line = left ? { folder, ...left } : await this.lookedUp(store, mark)
    const text = line && lineText(line)
    if (line === undefined || text === undefined) return undefined
    const name = lineName(folder, line.epoch, tag)
    await writeEntry(store, join(indexPath(store), name), text)
    return { kind: 'line', name, folder, epoch: line.epoch }
  }

  private async lookedUp(store: Store, { folder, epoch }: Mark): Promise<SummaryLine | undefined> {
    const seen = await this.survey.look(store, folder)
    return seen?.isDurable && (epoch === 0 || seen.line?.epoch === epoch) ? seen.line : undefined
  }

  private async foldWhenDue(store: Store, tag: string, found: readonly string[]): Promise<void> {
    const names = found.map(parseIndexName)
    const entries = entriesIn(names)
    const isFull = this.isBehind || foldableCount(entries) >= this.leftCount + entriesMax
    if (!isFull && names.some(({ kind }) => kind === 'list')) return
    if (!isFull && (await this.hasAll(store, new Set(entries.map(({ folder }) => folder))))) return
    this.folding ??= this.fold(store, tag).finally(() => (this.folding = undefined))
    await this.folding
  }

  /** Whether there is an entry for each session: then a list would say nothing more. */
  private async hasAll(store: Store, named: ReadonlySet<string>): Promise<boolean> {
    return (await folderNames(store)).every((name) => named.has(name) || this.terms.passedOver.has(name))
  }

  /** Takes the entries into a new list. Of two who do it at once, one does it; the other leaves things as they are. */
  private async fold(store: Store, tag: string): Promise<void> {
    const { port } = store
    const path = indexPath(store)
    const found = await this.index.read(store)
    const { lines, settled, hasMore } = await foldLines(store, found, this.terms)
    this.isBehind = hasMore
    this.leftCount = foldableCount(found.entries) - foldableCount(settled)
    const number = nextListNumber(found.number, found.lastNumber)
    if (number === undefined) return
    const name = listName(number)
    if (!(await writeList(port, { folder: path, name, tag }, lines))) return
    const gone = [...settled.map((entry) => entry.name), ...listsBefore(found)]
    for (const each of gone) await cleanUp(() => port.unlink(join(path, each)))
  }
}

/** A mark of a lease stays until that is over; what is left of a removal, until there is a new list. */
function foldableCount(entries: readonly EntryName[]): number {
  return entries.filter(({ kind, epoch }) => kind === 'line' || epoch === 0).length
}

function listsBefore({ number, outdated }: FoundIndex): readonly string[] {
  return number > 0 ? [listName(number), ...outdated] : outdated
}

function isBefore(
  entry: ReturnType<typeof parseIndexName>,
  folder: string,
  epoch: number,
): entry is EntryName {
  if (entry.kind !== 'mark' && entry.kind !== 'line') return false
  return entry.folder === folder && entry.epoch > 0 && entry.epoch <= epoch
}

async function createMark(store: Store, path: string): Promise<void> {
  const { port } = store
  try {
    await createEmpty(port, path)
  } catch (error) {
    if (!hasReason(error, 'ENOENT')) throw error
    await ensureFolder(port, indexPath(store))
    await createEmpty(port, path)
  }
}

async function createEmpty(port: JournalPort, path: string): Promise<void> {
  const { file } = await createFile(port, path)
  await file.close()
}

/** Whole when the mark goes that it stands for; a crash before that leaves both, and the mark counts. */
async function writeEntry({ port }: Store, path: string, text: string): Promise<void> {
  await createFilled(port, path, (file) => writeAll(file, Buffer.from(`${text}\n`), 0))
}

/** Whatever fails here leaves marks behind, and so costs time and nothing else. */
async function quietly(work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (!isSessionError(error) && !isSystemFailure(error)) throw error
  }
}
