import { randomBytes } from 'node:crypto'
import * as sync from 'node:fs'
import { constants, type BigIntStats } from 'node:fs'
import * as fs from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { assert } from '@tidemark/session-core'
import { thisProcess } from '../process.ts'
import { networkFsOf } from './fs-kind.ts'
import { LoopTurns } from './loop-turns.ts'
import { hasReason, type FileStat, type JournalPort, type PortFile } from './port.ts'
import { ReadOnlyFile } from './read-only-file.ts'
import { SocketLocks } from './socket.ts'

const isWindows = process.platform === 'win32'

// Windows has none of them, and gives `undefined`.
const noFollow = (constants.O_NOFOLLOW as number | undefined) ?? 0
const noWait = (constants.O_NONBLOCK as number | undefined) ?? 0
const folderOnly = (constants.O_DIRECTORY as number | undefined) ?? 0

const openFlags = {
  // A pipe in the place of a file would wait for its other end.
  read: constants.O_RDONLY | noFollow | noWait,
  create: constants.O_RDWR | constants.O_CREAT | constants.O_EXCL | noFollow,
}

const turns = new LoopTurns()

const owner = process.geteuid?.()

/** Of this machine, since it was asked for. */
let bootId: string | null | undefined

/** A read that is larger goes through the thread pool. */
const shortReadSizeBytes = 65_536

/**
 * The file system of this machine. The only place that touches it.
 *
 * Names, sizes and short reads are asked for at once: the kernel has them in memory, or fetches them in a fraction of a
 * millisecond, and through the thread pool they cost ten times as much. However many are asked for in a row, the event
 * loop turns in between. Whatever changes something does not hold up the process.
 */
export const systemPort: JournalPort = {
  open: async (path, how) =>
    how === 'read'
      ? turns.make(() => new ReadFile(sync.openSync(path, openFlags.read)))
      : new WrittenFile(await fs.open(path, openFlags.create, 0o600)),
  stat: (path) => turns.make(() => toStat(sync.lstatSync(path, { bigint: true }))),
  realpath: (path) => turns.make(() => sync.realpathSync.native(path)),
  readdir: (path) => turns.make(() => sync.readdirSync(path)),
  glance: (folder, name) => ({
    names: sync.readdirSync(folder),
    identity: toStat(sync.lstatSync(join(folder, name), { bigint: true })).identity,
  }),
  mkdir: (path) => fs.mkdir(path, 0o700),
  rmdir: (path) => fs.rmdir(path),
  rename: (from, to) => fs.rename(from, to),
  link: (from, to) => fs.link(from, to),
  unlink: (path) => fs.unlink(path),
  chmod: (path, mode) => fs.chmod(path, mode),
  syncFolder,
  now: () => Date.now(),
  random: (sizeBytes) => randomBytes(sizeBytes).toString('hex'),
  pause: pauseUnless,
  later,
  networkFs,
  identity: async () => ({ ...thisProcess(), bootId: (bootId ??= await readBootId()) }),
  hasModes: !isWindows,
  ...(owner !== undefined && { owner }),
  locks: new SocketLocks({ platform: process.platform, isThere, throughDescriptor }),
}

const readAt = promisify(sync.read)

/** Closed, its number may be another file's: it is used once for that, and not after. */
class ReadFile extends ReadOnlyFile {
  constructor(private fd: number | undefined) {
    super()
  }

  async read(into: Uint8Array, offset: number): Promise<number> {
    if (into.length <= shortReadSizeBytes)
      return turns.make(() => sync.readSync(this.open, into, 0, into.length, offset))
    return (await readAt(this.open, into, 0, into.length, offset)).bytesRead
  }

  stat(): Promise<FileStat> {
    return turns.make(() => toStat(sync.fstatSync(this.open, { bigint: true })))
  }

  async close(): Promise<void> {
    const { fd } = this
    this.fd = undefined
    if (fd !== undefined) sync.closeSync(fd)
  }

  private get open(): number {
    assert(this.fd !== undefined, 'a file is read before it is closed')
    return this.fd
  }
}

class WrittenFile implements PortFile {
  constructor(private readonly handle: fs.FileHandle) {}

  async read(into: Uint8Array, offset: number): Promise<number> {
    return (await this.handle.read(into, 0, into.length, offset)).bytesRead
  }

  async write(bytes: Uint8Array, offset: number): Promise<number> {
    return (await this.handle.write(bytes, 0, bytes.length, offset)).bytesWritten
  }

  sync(): Promise<void> {
    return this.handle.datasync()
  }

  stat(): Promise<FileStat> {
    return turns.make(() => toStat(sync.fstatSync(this.handle.fd, { bigint: true })))
  }

  chmod(mode: number): Promise<void> {
    return this.handle.chmod(mode)
  }

  close(): Promise<void> {
    return this.handle.close()
  }
}

function toStat(stats: BigIntStats): FileStat {
  const kind = stats.isFile() ? 'file' : stats.isDirectory() ? 'folder' : 'other'
  const identity = `${stats.dev}:${stats.ino}`
  const known = { sizeBytes: Number(stats.size), mode: Number(stats.mode) & 0o777, identity }
  return { kind, ...known, ...(!isWindows && { owner: Number(stats.uid) }) }
}

async function pauseUnless(durationMs: number, signal?: AbortSignal): Promise<void> {
  try {
    await pause(durationMs, undefined, { signal })
  } catch (error) {
    if (!signal?.aborted) throw error // it was called off, as it may be
  }
}

function later(delayMs: number, work: () => void): () => void {
  const timer = setTimeout(work, delayMs)
  timer.unref()
  return () => clearTimeout(timer)
}

async function syncFolder(path: string): Promise<void> {
  // Windows cannot open a folder; its file system keeps names in a journal of its own.
  if (isWindows) return
  const handle = await fs.open(path, constants.O_RDONLY | folderOnly)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

async function networkFs(path: string): Promise<string | undefined> {
  // Elsewhere the numbers mean something else, or nothing.
  return process.platform === 'linux' ? networkFsOf((await fs.statfs(path)).type) : undefined
}

/** Linux reaches what is in an open folder by a path of a few bytes, however long the folder's own is. */
async function throughDescriptor<T>(folder: string, work: (path?: string) => Promise<T>): Promise<T> {
  const handle = await fs.open(folder, constants.O_RDONLY | folderOnly | noFollow)
  try {
    const path = `/proc/self/fd/${handle.fd}`
    return await work(isThere(path, 'EACCES', 'EPERM') ? path : undefined)
  } finally {
    await handle.close()
  }
}

/** `hidden`: the reasons for which what is there counts as not there. */
function isThere(path: string, ...hidden: readonly string[]): boolean {
  try {
    sync.lstatSync(path)
    return true
  } catch (error) {
    if (!hasReason(error, 'ENOENT', 'ENOTDIR', ...hidden)) throw error
    return false
  }
}

async function readBootId(): Promise<string | null> {
  try {
    return (await fs.readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim()
  } catch (error) {
    if (!hasReason(error, 'ENOENT', 'EACCES', 'EPERM', 'ENOTDIR')) throw error
    return null // only Linux says
  }
}
