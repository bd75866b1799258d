import { dirname } from 'node:path'
import { isSessionError } from '@tidemark/session-core'
import { refusal } from '../refusal.ts'
import { hasReason, systemCode, type ContinuityPort, type FileStat, type PortFile } from './port.ts'

const fileMode = 0o600
const folderMode = 0o700
const writableByOthers = 0o022

/** Writes that take nothing, over and over, are a disk that is full without saying so. */
const emptyWritesMax = 3

/** Runs work on the medium; what the system refuses is `STORAGE_FAILED` (`unavailable`). */
export async function onMedium<T>(what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (cause) {
    const code = systemCode(cause)
    if (code === undefined || isSessionError(cause)) throw cause
    throw refusal('unavailable', `${what} failed: ${code}`, { cause, system: code })
  }
}

/** A new file that only its owner can use, whatever the umask. */
export async function createFile(port: ContinuityPort, path: string): Promise<PortFile> {
  const file = await port.open(path, 'create')
  try {
    if (port.hasModes) await insistOnMode(file, fileMode)
    return file
  } catch (error) {
    await file.close()
    throw error
  }
}

/** A new file that holds these bytes, durably, or none. Its name is not durable yet. */
export async function createWhole(port: ContinuityPort, path: string, bytes: Uint8Array): Promise<void> {
  const file = await createFile(port, path)
  try {
    await writeAll(file, bytes, 0)
    await file.sync()
  } catch (error) {
    await cleanUp(() => file.close())
    await cleanUp(() => port.unlink(path))
    throw error
  }
  await file.close()
}

/** Writes all of the bytes: one write may take fewer than it was given, without an error. */
export async function writeAll(file: PortFile, bytes: Uint8Array, offset: number): Promise<void> {
  let written = 0
  for (let empty = 0; written < bytes.length;) {
    const countBytes = await file.write(bytes.subarray(written), offset + written)
    written += countBytes
    empty = countBytes === 0 ? empty + 1 : 0
    if (empty >= emptyWritesMax)
      throw refusal('unavailable', `the medium took ${written} of ${bytes.length} bytes, and no more`)
  }
}

/**
 * The bytes of a file; `undefined` where there is none.
 * @throws SessionError `CORRUPT` (`damaged`) for what is no file of ours, or larger than it can be.
 */
export async function findBytes(
  port: ContinuityPort,
  path: string,
  sizeBytesMax: number,
): Promise<Buffer | undefined> {
  try {
    const file = await port.open(path, 'read')
    try {
      const stat = await file.stat()
      if (stat.kind !== 'file') throw refusal('damaged', `a ${stat.kind} stands where a file must be`)
      if (port.hasModes) refuseWritable(stat, 'a file of the store')
      if (stat.sizeBytes > sizeBytesMax)
        throw refusal('damaged', `a file of ${stat.sizeBytes} bytes where ${sizeBytesMax} are the most`)
      return await readAll(file, stat.sizeBytes)
    } finally {
      await file.close()
    }
  } catch (error) {
    if (hasReason(error, 'ENOENT')) return undefined
    // A link stands in its place, and where it leads is not ours to read.
    if (hasReason(error, 'ELOOP', 'EISDIR'))
      throw refusal('damaged', 'a link or folder stands in a file’s place')
    throw error
  }
}

/** The names in a folder, none where there is no folder. */
export async function namesIn(port: ContinuityPort, path: string): Promise<readonly string[]> {
  try {
    return await port.readdir(path)
  } catch (error) {
    if (!hasReason(error, 'ENOENT')) throw error
    return []
  }
}

/** As `ensureFolder`, for a folder that may have to be made with everything above it. */
export async function ensureRoot(port: ContinuityPort, path: string): Promise<void> {
  const parent = dirname(path)
  if (parent === path) return
  if (!(await isThere(port, path))) {
    await ensureRoot(port, parent)
    await makeFolder(port, path)
  }
  // Also above what is there: a death may have left names that nobody has synced. Some folders are not ours to open.
  for (let above = parent; ; above = dirname(above)) {
    await cleanUp(() => port.syncFolder(above))
    if (dirname(above) === above) break
  }
}

/** The folder below `above`, which is there, with every name on the way durable. */
export async function ensureFolder(port: ContinuityPort, path: string, above: string): Promise<void> {
  if (path === above) return
  const parent = dirname(path)
  if (parent !== path) await ensureFolder(port, parent, above)
  await makeFolder(port, path)
  // Also where somebody else made it: whether that one has synced it is not known.
  await port.syncFolder(parent)
}

async function makeFolder(port: ContinuityPort, path: string): Promise<void> {
  try {
    await port.mkdir(path)
    if (port.hasModes)
      await insistOnMode({ stat: () => port.stat(path), chmod: (mode) => port.chmod(path, mode) }, folderMode)
  } catch (error) {
    if (!hasReason(error, 'EEXIST')) throw error
    await refuseOpenFolder(port, path)
  }
}

async function isThere(port: ContinuityPort, path: string): Promise<boolean> {
  try {
    await port.stat(path)
    return true
  } catch (error) {
    if (!hasReason(error, 'ENOENT')) throw error
    return false
  }
}

/** @throws SessionError `STORAGE_FAILED` when others could put files there, or it is a link that leads elsewhere. */
export async function refuseOpenFolder(port: ContinuityPort, path: string): Promise<void> {
  const stat = await port.stat(path)
  if (stat.kind !== 'folder') throw refusal('unavailable', `a ${stat.kind} stands where a folder must be`)
  if (port.hasModes) refuseWritable(stat, 'a folder of the store')
}

/** Does what can be done without: what the system refuses here is not reported. */
export async function cleanUp(work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (systemCode(error) === undefined) throw error
  }
}

async function readAll(file: PortFile, sizeBytes: number): Promise<Buffer> {
  const bytes = Buffer.alloc(sizeBytes)
  for (let offset = 0; offset < sizeBytes;) {
    const countBytes = await file.read(bytes.subarray(offset), offset)
    if (countBytes === 0) return bytes.subarray(0, offset)
    offset += countBytes
  }
  return bytes
}

/** What others can write to, they can forge. */
function refuseWritable({ mode }: Pick<FileStat, 'mode'>, what: string): void {
  if ((mode & writableByOthers) === 0) return
  throw refusal('unavailable', `others can write to ${what} (mode ${mode.toString(8)})`, { mode })
}

async function insistOnMode(target: Pick<PortFile, 'stat' | 'chmod'>, mode: number): Promise<void> {
  if ((await target.stat()).mode === mode) return
  await target.chmod(mode) // a umask took more away than it should
  const { mode: found } = await target.stat()
  if (found === mode) return
  throw refusal(
    'unavailable',
    `this file system gives mode ${found.toString(8)} instead of ${mode.toString(8)}`,
  )
}
