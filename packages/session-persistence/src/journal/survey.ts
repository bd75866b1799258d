import { join } from 'node:path'
import { isSessionError } from '@tidemark/session-core'
import { foldActivity, noActivity, summaryOf, type Activity, type SessionSummary } from '../summary.ts'
import { listNames, sessionIn } from './chain.ts'
import { failure } from './failure.ts'
import { folderName, idIn, passingPrefixes } from './folder-name.ts'
import { readToEnd } from './log-reader.ts'
import { hasReason } from './port.ts'
import type { SessionFolder } from './segment-file.ts'
import { segmentsIn } from './segment-name.ts'
import { findHeaderIn } from './segment-start.ts'
import type { Store } from './store.ts'

/** Sessions that are read at the same time. */
const readersMax = 4

/** What a folder held when it was read, and what that came to. */
interface Known {
  readonly signature: string
  readonly summary: SessionSummary
}

/**
 * One line for every session of a store. What cannot be read is a line as well, and never a failure of the
 * rest.
 *
 * A log is read again only when its segments have changed: they grow, and never change otherwise.
 */
export class Survey {
  private known = new Map<string, Known>()

  async list(store: Store): Promise<SessionSummary[]> {
    const names = (await folderNames(store)).values()
    const found = new Map<string, Known>()
    const reader = async (): Promise<void> => {
      for (const name of names) {
        const known = await this.summarize(store, name)
        if (known) found.set(name, known)
      }
    }
    await Promise.all(Array.from({ length: readersMax }, reader))
    this.known = found
    return [...found.values()].map(({ summary }) => summary)
  }

  /** `undefined` when the session was removed meanwhile. */
  private async summarize({ port, sessionsPath }: Store, name: string): Promise<Known | undefined> {
    const folder = { port, path: join(sessionsPath, name), id: idIn(name) ?? name }
    let id = folder.id
    try {
      const signature = await signatureOf(folder)
      const known = this.known.get(name)
      if (known?.summary.status === 'ok' && known.signature === signature) return known
      id = idIn(name) ?? (await findId(folder, name))
      return { signature, summary: await summarizeLog({ ...folder, id }) }
    } catch (cause) {
      const error = failure('reading it', cause)
      if (!isSessionError(error)) throw error
      if (error.code === 'NOT_FOUND') return undefined
      return { signature: '', summary: { id, status: 'damaged', reason: error.message } }
    }
  }
}

async function folderNames({ port, sessionsPath }: Store): Promise<readonly string[]> {
  try {
    const isPassing = (name: string): boolean =>
      Object.values(passingPrefixes).some((prefix) => name.startsWith(prefix))
    return (await port.readdir(sessionsPath)).filter((name) => !name.startsWith('.') && !isPassing(name))
  } catch (error) {
    if (!hasReason(error, 'ENOENT')) throw error
    return [] // no session was ever created
  }
}

async function signatureOf(folder: SessionFolder): Promise<string> {
  const parts: string[] = []
  for (const { name } of segmentsIn(await listNames(folder))) {
    const { sizeBytes, identity } = await folder.port.stat(join(folder.path, name))
    parts.push(`${name} ${sizeBytes} ${identity}`)
  }
  return parts.join('/')
}

async function summarizeLog(folder: SessionFolder): Promise<SessionSummary> {
  let activity: Activity = noActivity
  const { chain } = await readToEnd(folder, {}, ({ events }) => {
    activity = events.reduce(foldActivity, activity)
  })
  return summaryOf(sessionIn(chain, folder.id), activity)
}

/** The id of a session whose folder's name is too short for it; the name itself where no header tells. */
async function findId(folder: SessionFolder, name: string): Promise<string> {
  for (const segment of segmentsIn(await listNames(folder))) {
    const id = (await findHeaderIn(folder, segment))?.header.session.id
    if (id !== undefined && folderName(id) === name) return id
  }
  return name
}
