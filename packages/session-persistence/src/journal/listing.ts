import { unknownSession } from '../unknown-session.ts'
import { corrupt } from './failure.ts'
import { forgetReplaced, listPacked } from './pack-shelf.ts'
import { hasReason } from './port.ts'
import { refuseForgeable } from './private-file.ts'
import type { SessionFolder } from './segment-file.ts'

/**
 * The names in a session's folder, and those of the segments in its packs.
 * @throws SessionError `NOT_FOUND`, `CORRUPT` when something else is in its place.
 */
export async function listNames(folder: SessionFolder): Promise<readonly string[]> {
  await refuseOther(folder)
  await forgetReplaced(folder)
  return listAgain(folder)
}

/** As `listNames`, of a folder that was looked at a moment ago. */
export async function listAgain(folder: SessionFolder): Promise<readonly string[]> {
  const { names, packs } = await listPacked(folder)
  const packed = packs.flatMap(({ segments }) => segments.map(({ name }) => name))
  return packed.length === 0 ? names : [...new Set([...names, ...packed])]
}

async function refuseOther({ port, id, path }: SessionFolder): Promise<void> {
  try {
    const stat = await port.stat(path)
    if (stat.kind !== 'folder') throw corrupt(id, { segment: '.', reason: 'is no folder' })
    refuseForgeable(port, stat, 'the folder of a session')
  } catch (error) {
    throw hasReason(error, 'ENOENT') ? unknownSession(id) : error
  }
}
