import { dirname } from 'node:path'
import { SessionError } from '@tidemark/session-core'
import { hasReason, type FileStat, type JournalPort, type PortFile } from './port.ts'
import { readSpan } from './span.ts'
import { cleanUp, closeAfterFailure, writeAll } from './writing.ts'

const fileMode = 0o600
const folderMode = 0o700
const writableByOthers = 0o022
const shownToOthers = 0o077

export interface OpenedFile {
  readonly file: PortFile
  readonly stat: FileStat
}

/** A new file that only its owner can use, whatever the umask. */
export async function createFile(port: JournalPort, path: string): Promise<OpenedFile> {
  const file = await port.open(path, 'create')
  try {
    const stat = await (port.hasModes ? insistOnMode(file, fileMode) : file.stat())
    insistOnOwner(port, stat)
    return { file, stat }
  } catch (error) {
    await file.close()
    throw error
  }
}

/** A new file that holds what `fill` writes, or none. Whether it is synced, `fill` says; its name is not durable yet. */
export async function createFilled(
  port: JournalPort,
  path: string,
  fill: (file: PortFile) => Promise<void>,
): Promise<void> {
  const { file } = await createFile(port, path)
  try {
    try {
      await fill(file)
    } catch (error) {
      await closeAfterFailure(file)
      throw error
    }
    await file.close()
  } catch (error) {
    await cleanUp(() => port.unlink(path))
    throw error
  }
}

/** As `createFilled`: these bytes, and durable. */
export async function createWhole(port: JournalPort, path: string, bytes: Uint8Array): Promise<void> {
  await createFilled(port, path, async (file) => {
    await writeAll(file, bytes, 0)
    await file.sync()
  })
}

/** The bytes of a file, so many of them at most; `undefined` where there is none. */
export async function findBytes(
  port: JournalPort,
  path: string,
  sizeBytesMax: number,
): Promise<Buffer | undefined> {
  try {
    const { file, stat } = await openFile(port, path)
    try {
      return await readSpan(file, 0, Math.min(stat.sizeBytes, sizeBytesMax))
    } finally {
      await file.close()
    }
  } catch (error) {
    if (!hasReason(error, 'ENOENT')) throw error
    return undefined
  }
}

/**
 * A file to read. Anything but a plain file of ours is refused. It may have several names: nothing is opened to be
 * written that was there before, so another name of it gives nobody anything, and a copy of hard links is a store.
 */
export async function openFile(port: JournalPort, path: string): Promise<OpenedFile> {
  const file = await port.open(path, 'read')
  try {
    const stat = await file.stat()
    if (stat.kind !== 'file')
      throw new SessionError('STORAGE_FAILED', `a ${stat.kind} stands where a file must be`)
    refuseForgeable(port, stat, 'a file of the journal')
    return { file, stat }
  } catch (error) {
    await file.close()
    throw error
  }
}

/** A new folder that only its owner can use. Its name is not durable yet. */
export async function createFolder(port: JournalPort, path: string): Promise<void> {
  await port.mkdir(path)
  if (!port.hasModes) return
  const chmod = (mode: number): Promise<void> => port.chmod(path, mode)
  await insistOnMode({ stat: () => port.stat(path), chmod }, folderMode)
}

/** The folder, created with its parents where it is missing, and its name durable. */
export async function ensureFolder(port: JournalPort, path: string): Promise<void> {
  if (await exists(port, path)) return
  const parent = dirname(path)
  if (parent !== path) await ensureFolder(port, parent)
  try {
    await createFolder(port, path)
  } catch (error) {
    if (!hasReason(error, 'EEXIST')) throw error // somebody was faster
  }
  await port.syncFolder(parent)
}

/** @throws SessionError `STORAGE_FAILED` when others could put files there, or it is a link that leads elsewhere. */
export async function refuseOpenFolder(
  port: JournalPort,
  path: string,
  what = 'the root of the journal',
): Promise<void> {
  const stat = await port.stat(path)
  if (stat.kind !== 'folder') throw new SessionError('STORAGE_FAILED', `${what} is not a folder`)
  refuseForgeable(port, stat, what)
}

const root = 0

/**
 * What others can write to, they can forge, and its owner can, whatever its mode. Root can write to everything anyway.
 * For root itself no other owner is trusted either: what it wrote beside a user's files, that user could not read.
 *
 * @throws SessionError `STORAGE_FAILED`.
 */
export function refuseForgeable(
  port: Pick<JournalPort, 'hasModes' | 'owner'>,
  { mode, owner }: Pick<FileStat, 'mode' | 'owner'>,
  what: string,
): void {
  if (port.owner !== undefined && owner !== undefined && owner !== port.owner && owner !== root) {
    const message = `user ${owner} owns ${what}, and this process is of user ${port.owner}`
    throw new SessionError('STORAGE_FAILED', message, { reason: 'owner', owner })
  }
  if (!port.hasModes || (mode & writableByOthers) === 0) return
  const message = `others can write to ${what} (mode ${mode.toString(8)})`
  throw new SessionError('STORAGE_FAILED', message, { reason: 'mode', mode })
}

/** Keeps others from what is below a folder of ours that was put back with another mode, from a backup say. */
export async function hideFolder(port: JournalPort, path: string): Promise<void> {
  if (!port.hasModes) return
  const { kind, mode, owner } = await port.stat(path)
  if (kind === 'folder' && owner === port.owner && (mode & shownToOthers) !== 0)
    await port.chmod(path, folderMode)
}

/** The path, or the nearest of its parents that is there. */
export async function nearest(port: JournalPort, path: string): Promise<string> {
  if (await exists(port, path)) return path
  return nearest(port, dirname(path))
}

export async function exists(port: JournalPort, path: string): Promise<boolean> {
  try {
    await port.stat(path)
    return true
  } catch (error) {
    if (!hasReason(error, 'ENOENT')) throw error
    return false
  }
}

async function insistOnMode(target: Pick<PortFile, 'stat' | 'chmod'>, mode: number): Promise<FileStat> {
  const before = await target.stat()
  if (before.mode === mode) return before
  await target.chmod(mode) // a umask took more away than it should
  const after = await target.stat()
  if (after.mode === mode) return after
  throw new SessionError(
    'STORAGE_FAILED',
    `this file system gives mode ${after.mode.toString(8)} instead of ${mode.toString(8)}`,
  )
}

function insistOnOwner(port: JournalPort, { owner }: FileStat): void {
  if (port.owner === undefined || owner === undefined || owner === port.owner) return
  const message = `this file system gives what user ${port.owner} creates to user ${owner}`
  throw new SessionError('STORAGE_FAILED', message, { reason: 'owner', owner })
}
