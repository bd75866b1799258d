import { randomBytes } from 'node:crypto'
import { constants, fstatSync, lstatSync, readdirSync, type BigIntStats } from 'node:fs'
import * as fs from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { thisProcess } from '../process.ts'
import { networkFsOf } from './fs-kind.ts'
import { hasReason, type FileStat, type JournalPort, type PortFile } from './port.ts'
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

/** The file system of this machine. The only place that touches it. */
export const systemPort: JournalPort = {
  open: async (path, how) => new SystemFile(await fs.open(path, openFlags[how], 0o600)),
  // What the kernel has in memory is asked for at once: through the thread pool it costs ten times as much.
  stat: async (path) => toStat(lstatSync(path, { bigint: true })),
  realpath: (path) => fs.realpath(path),
  readdir: (path) => fs.readdir(path),
  glance: (folder, name) => ({
    names: readdirSync(folder),
    identity: toStat(lstatSync(join(folder, name), { bigint: true })).identity,
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
  pause: async (durationMs) => pause(durationMs),
  later,
  networkFs,
  identity: async () => ({ ...thisProcess(), bootId: await readBootId() }),
  hasModes: !isWindows,
  locks: new SocketLocks({ platform: process.platform, throughDescriptor }),
}

class SystemFile implements PortFile {
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

  async stat(): Promise<FileStat> {
    return toStat(fstatSync(this.handle.fd, { bigint: true }))
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
  return { kind, sizeBytes: Number(stats.size), mode: Number(stats.mode) & 0o777, identity }
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
    return await work((await isThere(path)) ? path : undefined)
  } finally {
    await handle.close()
  }
}

async function isThere(path: string): Promise<boolean> {
  try {
    await fs.stat(path)
    return true
  } catch (error) {
    if (!hasReason(error, 'ENOENT', 'EACCES', 'EPERM', 'ENOTDIR')) throw error
    return false // this process does not see /proc
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
