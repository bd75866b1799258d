import { join } from 'node:path'
import { isSessionError } from '@tidemark/session-core'
import { placeOf, selectPage, type Placed, type SessionSummary, type SummaryPage } from '../summary.ts'
import { listNames } from './listing.ts'
import { failure } from './failure.ts'
import { FolderMemory } from './folder-memory.ts'
import { folderName, idIn, passingPrefixes } from './folder-name.ts'
import { findImprint, isSameImprint } from './imprint.ts'
import { summarizeLog, type Seen, type SummaryTerms } from './log-summary.ts'
import { hasReason } from './port.ts'
import type { SessionFolder } from './segment-file.ts'
import { segmentsIn } from './segment-name.ts'
import { findHeaderIn } from './segment-start.ts'
import type { Store } from './store.ts'
import type { StoreIndex } from './store-index.ts'
import { summaryOfLine, type SummaryLine } from './summary-line.ts'

/** Sessions that are looked at at the same time. */
const lookersMax = 4

/** A session in a list: what the index says of it, or what a look at its log came to. */
interface Candidate extends Placed {
  readonly folder: string
  readonly summary?: SessionSummary
}

/** Which sessions a page is made of. */
export interface PageTerms {
  readonly after?: string | undefined
  readonly countMax: number
}

/**
 * Lists of sessions, from the index as far as it goes. What cannot be read is listed as well, and never a failure of
 * the rest. It writes nothing.
 *
 * 1. Every session on a page is as its log says: it was compared with the imprint of its log when the page was made.
 * 2. So is the place of every session that anybody opened since its line was made, whether that one lives, crashed or
 *    lost power: it is marked, and marked sessions, and those without a line, are looked at for every page.
 * 3. Stale may be the place, never the content, of a session that was changed by other means than through a storage:
 *    from a copy put in its place, say. It has its old place until a page shows it there, or it is opened and released.
 * 4. Damage before the end of a log is not found by a list: `verify` and every read find it.
 */
export class Survey {
  /** What looks came to that were made before, by the session's folder. */
  private known = new Map<string, Seen>()

  constructor(private readonly index: StoreIndex) {}

  async page(store: Store, { after, countMax }: PageTerms): Promise<SummaryPage> {
    const { lines, marked } = await this.index.find(store)
    const names = await folderNames(store)
    const candidates = new Map<string, Candidate>()
    const unsure: string[] = []
    for (const name of names) {
      const line = lines.get(name)
      if (line === undefined || marked.has(name)) unsure.push(name)
      else candidates.set(name, line)
    }
    const look = async (folder: string): Promise<void> => {
      const found = await this.summarize(store, folder, lines.get(folder)?.line)
      if (found) candidates.set(folder, { folder, ...placeOf(found), summary: found })
      else candidates.delete(folder) // removed meanwhile
    }
    await inParallel(unsure, look)
    this.forgetAllBut(new Set(names))
    for (;;) {
      const { items, next } = selectPage(candidates.values(), after, countMax)
      const unread = items.filter(({ summary }) => summary === undefined)
      await inParallel(unread, ({ folder }) => look(folder))
      const shown = items.flatMap((item) => placedAlike(item, candidates.get(item.folder)) ?? [])
      if (shown.length === items.length) return { sessions: shown, ...(next !== undefined && { next }) }
    }
  }

  /** What a session came to when it was last looked at, or comes to now. `undefined` when it was removed. */
  async look(store: Store, name: string): Promise<Seen | undefined> {
    const findLine = async (): Promise<SummaryLine | undefined> =>
      (await this.index.find(store)).lines.get(name)?.line
    return this.lookWith(store, name, { findLine })
  }

  private async summarize(
    store: Store,
    name: string,
    line?: SummaryLine,
  ): Promise<SessionSummary | undefined> {
    return (await this.lookWith(store, name, { line, findLine: () => Promise.resolve(line) }))?.summary
  }

  private async lookWith(
    { port, sessionsPath }: Store,
    name: string,
    {
      line,
      findLine,
    }: { readonly line?: SummaryLine | undefined; readonly findLine: SummaryTerms['findLine'] },
  ): Promise<Seen | undefined> {
    const path = join(sessionsPath, name)
    const folder = { port, path, id: idIn(name) ?? name, memory: new FolderMemory() }
    let id = folder.id
    try {
      const known = this.known.get(name)
      const imprint = await findImprint(folder)
      if (imprint && line && isSameImprint(imprint, line))
        return { summary: summaryOfLine(line), line, isDurable: true }
      if (imprint && known?.line && isSameImprint(imprint, known.line)) return known
      id = idIn(name) ?? (await findId(folder, name))
      const terms = { name, imprint, findLine: async () => known?.line ?? findLine() }
      const seen = await summarizeLog({ ...folder, id }, terms)
      this.known.set(name, seen)
      return seen
    } catch (cause) {
      const error = failure('reading it', cause)
      if (!isSessionError(error)) throw error
      if (error.code === 'NOT_FOUND') return undefined
      return { summary: { id, status: 'damaged', reason: error.message }, isDurable: false }
    }
  }

  private forgetAllBut(names: ReadonlySet<string>): void {
    for (const name of this.known.keys()) if (!names.has(name)) this.known.delete(name)
  }
}

/** The summary of a session that still has the place in which it was found. */
function placedAlike(item: Candidate, now: Candidate | undefined): SessionSummary | undefined {
  return now && now.activeAt === item.activeAt && now.id === item.id ? now.summary : undefined
}

async function inParallel<T>(items: Iterable<T>, work: (item: T) => Promise<void>): Promise<void> {
  const rest = items[Symbol.iterator]()
  const worker = async (): Promise<void> => {
    for (let step = rest.next(); !step.done; step = rest.next()) await work(step.value)
  }
  await Promise.all(Array.from({ length: lookersMax }, worker))
}

/** How names begin that are of no session. */
const others = ['.', ...Object.values(passingPrefixes)]

/** The folders that hold sessions, or should. */
export async function folderNames({ port, sessionsPath }: Store): Promise<readonly string[]> {
  try {
    return (await port.readdir(sessionsPath)).filter(
      (name) => !others.some((start) => name.startsWith(start)),
    )
  } catch (error) {
    if (!hasReason(error, 'ENOENT')) throw error
    return [] // no session was ever created
  }
}

/** The id of a session whose folder's name is too short for it; the name itself where no header tells. */
async function findId(folder: SessionFolder, name: string): Promise<string> {
  for (const segment of segmentsIn(await listNames(folder))) {
    const id = (await findHeaderIn(folder, segment))?.header.session.id
    if (id !== undefined && folderName(id) === name) return id
  }
  return name
}
