import { keyedSha256 } from '../digest.ts'
import { unknownSession } from '../unknown-session.ts'
import { hasReason } from './port.ts'
import type { FolderPlace, SessionFolder } from './segment-file.ts'

/**
 * What a session's lock is called on this machine: only who can read the store can tell. It is of the folder itself,
 * by whatever path and mount it is seen: a copy of a store shares the secret, and is another store.
 *
 * @throws SessionError `NOT_FOUND` when there is no folder any more.
 */
export async function lockName({ id, path, port }: FolderPlace, secret: string): Promise<string> {
  try {
    return keyedSha256(secret, `lock ${(await port.stat(path)).identity} ${id}`)
  } catch (error) {
    throw hasReason(error, 'ENOENT') ? unknownSession(id) : error
  }
}

/** The epoch in a socket's name; `undefined` for any other name, and so for every path. */
export function socketEpoch(name: string): number | undefined {
  const digits = /^lock-(\d{6,15})-[0-9a-f]{16}$/.exec(name)?.[1]
  return digits === undefined ? undefined : Number(digits)
}

interface Whereabouts {
  readonly secret: string
  /** The one that the newest segment's header names. */
  readonly socket: string | undefined
}

/** Whether a writer has a session open. Asks, and holds nothing. */
export async function isLiving(folder: SessionFolder, { secret, socket }: Whereabouts): Promise<boolean> {
  const { path, port } = folder
  if (port.locks === undefined) return false
  const here = await port.locks.ask({ kind: 'machine', name: await lockName(folder, secret) })
  if (here.kind === 'held') return true
  if (socket === undefined || socketEpoch(socket) === undefined) return false
  return (await port.locks.ask({ kind: 'folder', path, name: socket })).kind === 'held'
}
