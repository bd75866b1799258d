import { dirname, join } from 'node:path'
import { SessionError } from '@tidemark/session-core'
import { z } from 'zod'
import { fitting } from '../fitting.ts'
import { corrupt } from './failure.ts'
import { formatVersion } from './format-version.ts'
import { passingPrefixes } from './folder-name.ts'
import { hasReason, type JournalPort } from './port.ts'
import { createWhole, ensureFolder, exists, findBytes, hideFolder, refuseOpenFolder } from './private-file.ts'
import { openLine, sealLine } from './sealed-line.ts'
import { cleanUp } from './writing.ts'

/** A journal's root, opened. */
export interface Store {
  readonly port: JournalPort
  readonly sessionsPath: string
  /** For names that only users of this store can guess. */
  readonly secret: string
}

const fileName = 'store.json'
const fileSizeBytesMax = 4_096

/**
 * How writers keep each other out: by epochs, and by sockets that tell whether a writer lives. A program that knew the
 * epochs only would take over from writers that live.
 */
const lockProtocol = 'socket'

/** Opens a root to read from it: `undefined` when nothing was ever written there. Creates nothing. */
export async function findStore(port: JournalPort, root: string): Promise<Store | undefined> {
  let path: string
  try {
    path = await port.realpath(root)
  } catch (error) {
    if (!hasReason(error, 'ENOENT')) throw error
    return undefined // nobody has written yet
  }
  await refuseOpenFolder(port, path)
  const sessionsPath = join(path, 'sessions')
  const early = await readSecret(port, path)
  const hasSessions = await exists(port, sessionsPath)
  if (hasSessions) await refuseOpenFolder(port, sessionsPath, 'the folder of all sessions')
  // It is durable before there is a place for sessions: another process may have made both since.
  const secret = early ?? (hasSessions ? await readSecret(port, path) : undefined)
  if (secret !== undefined) return { port, sessionsPath, secret }
  if (hasSessions) throw corrupt('store', { segment: fileName, reason: 'is missing' })
  return undefined
}

/**
 * Opens a root to write to it, and creates what is missing.
 * @throws SessionError `UNSUPPORTED_FORMAT`, `CORRUPT`.
 */
export async function openStore(port: JournalPort, root: string): Promise<Store> {
  const known = await findStore(port, root)
  if (known) {
    await ensureFolder(port, known.sessionsPath)
    return known
  }
  await ensureFolder(port, root)
  const path = await port.realpath(root)
  await refuseOpenFolder(port, path)
  await settleAbove(port, path)
  await createStoreFile(port, path)
  const store = await findStore(port, path)
  if (store === undefined)
    throw corrupt('store', { segment: fileName, reason: 'vanished while it was opened' })
  await ensureFolder(port, store.sessionsPath)
  return store
}

/** The secret in the store's file; `undefined` when there is no such file. */
async function readSecret(port: JournalPort, root: string): Promise<string | undefined> {
  const bytes = await findBytes(port, join(root, fileName), fileSizeBytesMax)
  if (bytes === undefined) return undefined
  const fields = openLine('store', bytes.toString().replace(/\n$/, ''))?.fields
  const format = fitting(anyFormat, fields)?.format ?? 0
  if (format > formatVersion) throw unsupported(`format ${format}`)
  const parsed = fitting(schema, fields)
  if (parsed === undefined) throw corrupt('store', { segment: fileName, reason: 'does not prove itself' })
  if (parsed.lock !== lockProtocol) throw unsupported(`lock protocol ${parsed.lock}`)
  return parsed.secret
}

/** Makes the names in a store durable: whoever created them may have died before. Only its owner sees what is in it. */
export async function settleStore({ port, sessionsPath }: Store): Promise<void> {
  await hideFolder(port, sessionsPath)
  await port.syncFolder(dirname(sessionsPath))
}

/**
 * Makes the names durable that lead to a root, before there is a store in it. Folders that were there before may not be
 * ours to sync, and need not be.
 */
async function settleAbove(port: JournalPort, root: string): Promise<void> {
  for (let path = root; path !== dirname(path); path = dirname(path)) {
    try {
      await port.syncFolder(dirname(path))
    } catch (error) {
      if (!hasReason(error, 'EACCES', 'EPERM')) throw error // it was there before the store
    }
  }
}

/** Linked into place whole, so that of two who create it at once, one wins and the other reads that one's. */
async function createStoreFile(port: JournalPort, root: string): Promise<void> {
  const path = join(root, fileName)
  const aside = join(root, `${passingPrefixes.building}${port.random(8)}`)
  const fields = {
    format: formatVersion,
    id: port.random(16),
    secret: port.random(16),
    lock: lockProtocol,
    createdAt: port.now(),
  }
  await createWhole(port, aside, Buffer.from(`${sealLine('store', fields).text}\n`))
  try {
    await port.link(aside, path)
  } catch (error) {
    if (!hasReason(error, 'EEXIST')) throw error // another process was faster
  } finally {
    await cleanUp(() => port.unlink(aside))
  }
  await port.syncFolder(dirname(path))
}

function unsupported(what: string): SessionError {
  return new SessionError(
    'UNSUPPORTED_FORMAT',
    `${fileName}: ${what} is not known to this program; nothing was changed`,
  )
}

const anyFormat = z.object({ format: z.int() })

const schema = z.object({
  format: z.literal(formatVersion),
  id: z.string().min(1),
  secret: z.string().min(1),
  lock: z.string(),
  createdAt: z.number(),
})
