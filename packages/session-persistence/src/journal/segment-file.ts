import { isCorrupt } from '../refused-read.ts'
import { join } from 'node:path'
import { corrupt } from './failure.ts'
import type { FolderMemory } from './folder-memory.ts'
import { listPacked, openPacked } from './pack-shelf.ts'
import { hasReason, type FileStat, type JournalPort, type PortFile } from './port.ts'
import { openFile } from './private-file.ts'
export { readPieces, readSpan } from './span.ts'

/** Where the files of one session are. */
export interface FolderPlace {
  readonly port: JournalPort
  readonly id: string
  readonly path: string
}

export interface SessionFolder extends FolderPlace {
  readonly memory: FolderMemory
}

export interface OpenedSegment {
  readonly file: PortFile
  readonly stat: FileStat
}

const missing = 'is missing'

/** Listings after which a segment that is in none of them is missing: a folder is not read at one moment. */
const listingsMax = 8

/**
 * A segment by its name, whether its bytes stand in a file of their own or in a pack. Where both are there, the pack
 * counts: the file is about to be removed.
 *
 * @throws SessionError `CORRUPT` when it is in neither.
 */
export async function openSegment(folder: SessionFolder, segment: string): Promise<OpenedSegment> {
  let before: string | undefined
  for (let listings = 0; ; listings++) {
    const found = (await openPacked(folder, segment)) ?? (await openRaw(folder, segment))
    if (found) return found
    const { names, broken } = await listPacked(folder)
    const now = [...names].sort().join('/')
    if (now !== before && listings < listingsMax) {
      before = now
      continue
    }
    const [suspect] = broken
    const reason = suspect ? `${missing}, and ${suspect.name} ${suspect.reason}` : missing
    throw corrupt(folder.id, { segment, reason, rule: 'R2' })
  }
}

/** Whether a segment was in no file: lost, or gone since the folder was listed, as a claim that nobody began may be. */
export function isMissing(error: unknown): boolean {
  return isCorrupt(error) && error.details.reason === missing
}

/** A segment's own file; `undefined` where there is none. */
export async function openRaw(
  { port, id, path }: SessionFolder,
  segment: string,
): Promise<OpenedSegment | undefined> {
  try {
    return await openFile(port, join(path, segment))
  } catch (error) {
    if (hasReason(error, 'ENOENT')) return undefined
    if (hasReason(error, 'ELOOP')) throw corrupt(id, { segment, reason: 'is a link', rule: 'R2' })
    throw error
  }
}
