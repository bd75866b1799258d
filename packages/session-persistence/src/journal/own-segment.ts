import { join } from 'node:path'
import { SessionError } from '@tidemark/session-core'
import { hasReason, isSystemFailure, type JournalPort, type PortFile } from './port.ts'
import { createFile } from './private-file.ts'
import type { SessionFolder } from './segment-file.ts'
import { highestEpoch, type SegmentName } from './segment-name.ts'

/** The segment that one lease writes. */
export interface OwnSegment {
  readonly folder: SessionFolder
  readonly name: SegmentName
  readonly file: PortFile
  /** Of the file itself: a name that leads to another file is not ours any more. */
  readonly identity: string
}

/** Listings in one look. */
const listingsMax = 64

/** Writes that take nothing, over and over, are a disk that is full without saying so. */
const emptyWritesMax = 3

/** @throws the port's `EEXIST` when the name is taken: the compare-and-swap that claims rest on. */
export async function createSegment(folder: SessionFolder, name: SegmentName): Promise<OwnSegment> {
  const file = await createFile(folder.port, join(folder.path, name.name))
  try {
    return { folder, name, file, identity: (await file.stat()).identity }
  } catch (error) {
    await file.close()
    throw error
  }
}

/**
 * Whether this segment may still speak for its session. It may not when a later epoch exists, or when its
 * name is gone or leads to another file. Lists until two listings agree, since a folder is not read at one
 * moment.
 *
 * @throws SessionError `FENCED`.
 */
export async function look(own: OwnSegment): Promise<void> {
  let before: string | undefined
  for (let listings = 0; listings < listingsMax; listings++) {
    const now = (await glance(own)).join('/')
    if (now === before) return
    before = now
  }
  throw new SessionError(
    'STORAGE_FAILED',
    `${own.folder.id}: no two of ${listingsMax} listings of its folder agreed`,
  )
}

/** One listing of a look. @throws SessionError `FENCED`. */
export async function glance({ folder, name, identity }: OwnSegment): Promise<readonly string[]> {
  const names = await orFenced(folder, () => folder.port.readdir(folder.path))
  const later = highestEpoch(names)
  if (later > name.epoch) throw fenced(folder.id, `epoch ${later} was claimed after ${name.epoch}`)
  const found = await orFenced(folder, () => folder.port.stat(join(folder.path, name.name)))
  if (found.identity !== identity) throw fenced(folder.id, `${name.name} is another file now`)
  return [...names].sort()
}

export function fenced(sessionId: string, because: string): SessionError {
  return new SessionError('FENCED', `${sessionId}: another writer took over: ${because}`, { sessionId })
}

async function orFenced<T>({ id }: SessionFolder, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (hasReason(error, 'ENOENT', 'ENOTDIR')) throw fenced(id, 'its files were removed')
    throw error
  }
}

/** Writes all of the bytes: one write may take fewer than it was given, without an error. */
export async function writeAll(file: PortFile, bytes: Uint8Array, offset: number): Promise<void> {
  let written = 0
  for (let empty = 0; written < bytes.length;) {
    const countBytes = await file.write(bytes.subarray(written), offset + written)
    written += countBytes
    empty = countBytes === 0 ? empty + 1 : 0
    if (empty < emptyWritesMax) continue
    throw new SessionError(
      'STORAGE_FAILED',
      `the medium took ${written} of ${bytes.length} bytes, and no more`,
    )
  }
}

/** Closes a file on the way out of a failure, which is the one to report. */
export async function closeAfterFailure(file: PortFile): Promise<void> {
  await cleanUp(() => file.close())
}

/** Does what can be done without: what the system refuses here is not reported. */
export async function cleanUp(work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (!isSystemFailure(error)) throw error
  }
}

/** Makes a segment durable that somebody else wrote, before it is sealed. */
export async function syncSegment(port: JournalPort, path: string): Promise<void> {
  const file = await port.open(path, 'read')
  try {
    await file.sync()
  } finally {
    await file.close()
  }
}
