import { randomBytes } from 'node:crypto'
import { constants, type Stats } from 'node:fs'
import * as fs from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { hasReason, type ContinuityPort, type FileStat, type PortFile } from './port.ts'
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
export const systemPort: ContinuityPort = {
  open: async (path, how) => new SystemFile(await fs.open(path, openFlags[how], 0o600)),
  stat: async (path) => toStat(await fs.lstat(path)),
  realpath: (path) => fs.realpath(path),
  readdir: (path) => fs.readdir(path),
  mkdir: (path) => fs.mkdir(path, 0o700),
  link: (from, to) => fs.link(from, to),
  unlink: (path) => fs.unlink(path),
  chmod: (path, mode) => fs.chmod(path, mode),
  syncFolder,
  random: (sizeBytes) => randomBytes(sizeBytes).toString('hex'),
  pause: async (durationMs) => pause(durationMs),
  hasModes: !isWindows,
  locks: new SocketLocks({ platform: process.platform, throughDescriptor, removeSocket }),
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
    return toStat(await this.handle.stat())
  }

  chmod(mode: number): Promise<void> {
    return this.handle.chmod(mode)
  }

  close(): Promise<void> {
    return this.handle.close()
  }
}

function toStat(stats: Stats): FileStat {
  const kind = stats.isFile() ? 'file' : stats.isDirectory() ? 'folder' : 'other'
  return { kind, sizeBytes: stats.size, mode: stats.mode & 0o777 }
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

/** Linux reaches what is in an open folder by a path of a few bytes, however long the folder's own is. */
async function throughDescriptor<T>(folder: string, work: (path: string) => Promise<T>): Promise<T> {
  const handle = await fs.open(folder, constants.O_RDONLY | folderOnly | noFollow)
  try {
    return await work(`/proc/self/fd/${handle.fd}`)
  } finally {
    await handle.close()
  }
}

/** Only a socket: nothing else that stands in its place is ours. */
async function removeSocket(path: string): Promise<void> {
  try {
    if ((await fs.lstat(path)).isSocket()) await fs.unlink(path)
  } catch (error) {
    if (!hasReason(error, 'ENOENT')) throw error // gone already
  }
}
