import { join } from 'node:path'
import { SessionError, isSessionError } from '@tidemark/session-core'
import type { RemoveTerms } from '../storage.ts'
import { unknownSession } from '../unknown-session.ts'
import { passingPrefixes } from './folder-name.ts'
import { SessionLock, findHolder } from './lock.ts'
import { hasReason, type JournalPort } from './port.ts'
import type { SessionFolder } from './segment-file.ts'
import type { Store } from './store.ts'

/** Folders inside each other in a session's: ours go no deeper than one. */
const depthMax = 16

/**
 * Takes what stands in a session's place its name, durably, and then removes it, damaged or not.
 * @throws SessionError `NOT_FOUND`, `LOCKED`.
 */
export async function removeSession(
  store: Store,
  folder: SessionFolder,
  { unlessHeld = false }: RemoveTerms = {},
): Promise<void> {
  const lock = unlessHeld ? await lockOf(folder, store.secret) : undefined
  try {
    await takeAway(store, folder)
  } finally {
    await lock?.release()
  }
}

async function lockOf(folder: SessionFolder, secret: string): Promise<SessionLock> {
  const holder = await knownHolder(folder)
  const lock = await SessionLock.take(folder, { secret, force: false, holder })
  if (holder) await lock.refuseHolder(holder)
  return lock
}

/** In a folder that is damaged nobody may be named. */
async function knownHolder(folder: SessionFolder): ReturnType<typeof findHolder> {
  try {
    return await findHolder(folder)
  } catch (error) {
    if (!isSessionError(error) || error.code === 'NOT_FOUND') throw error
    return undefined
  }
}

async function takeAway({ port, sessionsPath }: Store, { id, path }: SessionFolder): Promise<void> {
  const aside = join(sessionsPath, `${passingPrefixes.removing}${port.random(8)}`)
  try {
    await port.rename(path, aside)
  } catch (error) {
    throw hasReason(error, 'ENOENT') ? unknownSession(id) : error
  }
  await port.syncFolder(sessionsPath)
  if ((await port.stat(aside)).kind === 'folder') await removeFolder(port, aside)
  else await removeFile(port, aside)
}

/** Removes a session's folder, which has no name of a session any more, and everything in it. Follows no link. */
export async function removeFolder(port: JournalPort, path: string, depth = 1): Promise<void> {
  if (depth > depthMax)
    throw new SessionError('STORAGE_FAILED', `folders stand ${depthMax} deep in what is removed`)
  for (const name of await port.readdir(path)) {
    const inside = join(path, name)
    if (await isFolder(port, inside)) await removeFolder(port, inside, depth + 1)
    else await removeFile(port, inside)
  }
  await port.rmdir(path)
}

async function isFolder(port: JournalPort, path: string): Promise<boolean> {
  try {
    return (await port.stat(path)).kind === 'folder'
  } catch (error) {
    if (!hasReason(error, 'ENOENT')) throw error
    return false
  }
}

async function removeFile(port: JournalPort, path: string): Promise<void> {
  try {
    await port.unlink(path)
  } catch (error) {
    if (!hasReason(error, 'ENOENT')) throw error // a holder that was told took its socket away
  }
}
