import { join } from 'node:path'
import { SessionError } from '@tidemark/session-core'
import { HeadFile } from './head.ts'
import { hasReason, type PortFile } from './port.ts'
import { createFile } from './private-file.ts'
import type { SessionFolder } from './segment-file.ts'
import { highestEpoch, type SegmentName } from './segment-name.ts'
import { cleanUp, closeAfterFailure } from './writing.ts'

/** The segment that one lease writes. */
export interface OwnSegment {
  readonly folder: SessionFolder
  readonly name: SegmentName
  readonly file: PortFile
  /** How far its writer has acknowledged. */
  readonly head: HeadFile
  /** Of the file itself: a name that leads to another file is not ours any more. */
  readonly identity: string
}

/** Listings in one look. */
const listingsMax = 64

/** @throws the port's `EEXIST` when the name is taken: the compare-and-swap that claims rest on. */
export async function createSegment(folder: SessionFolder, name: SegmentName): Promise<OwnSegment> {
  const { file, stat } = await createFile(folder.port, join(folder.path, name.name))
  return { folder, name, file, head: new HeadFile(folder, name.epoch), identity: stat.identity }
}

/** The session's folder has another name from now on; the files in it are the same. */
export function moved(own: OwnSegment, folder: SessionFolder): OwnSegment {
  own.head.movedTo(folder)
  return { ...own, folder }
}

/** Lets go of a segment on the way out of a failure, which is the one to report. */
export async function giveUp({ file, head }: OwnSegment): Promise<void> {
  await closeAfterFailure(file)
  await cleanUp(() => head.close())
}

/**
 * Whether this segment may still speak for its session. It may not when a later epoch exists, or when its
 * name is gone or leads to another file. Lists until two listings agree, since a folder is not read at one
 * moment, and gives the names.
 *
 * @throws SessionError `FENCED`.
 */
export async function look(own: OwnSegment): Promise<readonly string[]> {
  let before: string | undefined
  for (let listings = 0; listings < listingsMax; listings++) {
    const names = await glance(own)
    const now = names.join('/')
    if (now === before) return names
    before = now
  }
  throw new SessionError(
    'STORAGE_FAILED',
    `${own.folder.id}: no two of ${listingsMax} listings of its folder agreed`,
  )
}

/** One listing of a look. @throws SessionError `FENCED`. */
export async function glance(own: OwnSegment): Promise<readonly string[]> {
  const { folder, name } = own
  const { port, path, id } = folder
  const { names, identity } = await orFenced(folder, async () => {
    return (
      port.glance?.(path, name.name) ?? { names: await port.readdir(path), identity: await identityOf(own) }
    )
  })
  const later = highestEpoch(names)
  if (later > name.epoch) throw fenced(id, `epoch ${later} was claimed after ${name.epoch}`)
  if (identity !== own.identity) throw fenced(id, `${name.name} is another file now`)
  return [...names].sort()
}

/** Whether the name of a segment still leads to its file. @throws SessionError `FENCED`. */
export async function refuseReplaced(own: OwnSegment): Promise<void> {
  const identity = await orFenced(own.folder, () => identityOf(own))
  if (identity !== own.identity) throw fenced(own.folder.id, `${own.name.name} is another file now`)
}

async function identityOf({ folder, name }: OwnSegment): Promise<string> {
  return (await folder.port.stat(join(folder.path, name.name))).identity
}

export function fenced(sessionId: string, because: string): SessionError {
  return new SessionError('FENCED', `${sessionId}: another writer took over: ${because}`, { sessionId })
}

/** What a session's files being gone means to whoever writes it: somebody went on without it. */
export async function orFenced<T>({ id }: SessionFolder, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (hasReason(error, 'ENOENT', 'ENOTDIR')) throw fenced(id, 'its files were removed')
    throw error
  }
}
