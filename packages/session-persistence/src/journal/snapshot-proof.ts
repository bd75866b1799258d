import { SessionError } from '@tidemark/session-core'
import type { Proof } from './recover.ts'
import type { SessionFolder } from './segment-file.ts'
import { readSnapshot, type SnapshotName } from './snapshot-file.ts'

/**
 * What snapshots prove that are of more than a log holds: each was written of what was durable, so one of this log says
 * that it lost something. One of another log says nothing of this one, nor does one of format 1, which does not name its
 * log, or what others can write to.
 *
 * One that the system does not give may be such a proof, and a proof must not be lost by a failure that passes: then
 * the log is refused, as where a segment cannot be read (R0). A log that is whole has no snapshot ahead of it, so no
 * sound session is refused for an unreadable shortcut.
 *
 * @throws SessionError `STORAGE_FAILED`; `UNSUPPORTED_FORMAT` for one of a later format.
 */
export async function proofsOfSnapshots(
  folder: SessionFolder,
  names: readonly SnapshotName[],
  log: string,
): Promise<readonly Proof[]> {
  const { id } = folder
  const proofs: Proof[] = []
  for (const name of names) {
    const found = await readSnapshot(folder, name)
    if (found.kind === 'unreadable') throw unread(id, name, found)
    if (found.kind === 'newer') throw newer(id, name)
    if (found.kind !== 'whole') continue
    const { of, epoch, at } = found.snapshot
    if (of?.session === id && of.log === log) proofs.push({ source: 'snapshot', epoch, seq: at.seq })
  }
  return proofs
}

function unread(
  sessionId: string,
  { name, seq }: SnapshotName,
  { reason, cause }: { readonly reason: string; readonly cause: Error },
): SessionError {
  const message = `${sessionId}: ${name} cannot be read (${reason}), and may prove that seq ${seq} was durable`
  return new SessionError('STORAGE_FAILED', `${message}; nothing was changed`, {
    sessionId,
    segment: name,
    reason,
    cause,
  })
}

function newer(sessionId: string, { name, seq }: SnapshotName): SessionError {
  const message = `${sessionId}: ${name} is of a later format, and may prove that seq ${seq} was durable`
  return new SessionError('UNSUPPORTED_FORMAT', `${message}; nothing was changed`, {
    sessionId,
    segment: name,
  })
}
