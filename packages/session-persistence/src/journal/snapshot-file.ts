import { join } from 'node:path'
import { SessionError, isSessionError } from '@tidemark/session-core'
import type { Tail } from '../storage.ts'
import { createWhole, openFile } from './private-file.ts'
import { hasReason, isSystemFailure } from './port.ts'
import { readSpan, type SessionFolder } from './segment-file.ts'
import { openSnapshot, sealSnapshot, type OpenedSnapshot, type OwnSnapshot } from './snapshot-envelope.ts'
import { cleanUp } from './writing.ts'

/** A larger snapshot is not kept: what would be read at each resume must stay small beside the log. */
const snapshotSizeBytesMax = 268_435_456

/** Snapshots of one session that are kept, and that a fork takes along. */
export const snapshotsKeptMax = 2

/** Until it is whole. */
const passingPrefix = 'snapshot-tmp-'

export interface SnapshotName {
  readonly name: string
  readonly seq: number
  /** The first digits of the log's digest. */
  readonly digest: string
}

/**
 * What stands under a snapshot's name. `unfit`: nothing that could be a snapshot. `unreadable`: the system refuses it,
 * and may give it another time.
 */
export type FoundSnapshot =
  | OpenedSnapshot
  | { readonly kind: 'gone' }
  | { readonly kind: 'unreadable'; readonly reason: string; readonly cause: Error }

/** Those that the names tell of, newest first. */
export function snapshotsIn(names: readonly string[]): readonly SnapshotName[] {
  const found = names.flatMap((name) => {
    const match = /^snapshot-(\d{1,15})-([0-9a-f]{16})\.msgpack$/.exec(name)
    return match ? [{ name, seq: Number(match[1]), digest: match[2] ?? '' }] : []
  })
  return found.sort((a, b) => b.seq - a.seq)
}

export function snapshotName({ seq, digest }: Tail): string {
  return `snapshot-${seq}-${digest.slice(0, 16)}.msgpack`
}

/**
 * Writes a snapshot under a name of its own and then gives it its name, so that it is there whole or not at all.
 * @throws the port's failures; a name that is there already is a snapshot of the same.
 */
export async function writeSnapshot(folder: SessionFolder, snapshot: OwnSnapshot): Promise<void> {
  const { port, path } = folder
  const bytes = sealSnapshot(snapshot)
  if (bytes.length > snapshotSizeBytesMax) {
    const message = `${folder.id}: a snapshot of ${bytes.length} bytes, at most ${snapshotSizeBytesMax}`
    throw new SessionError('INVALID_PAYLOAD', message, { sessionId: folder.id })
  }
  const passing = join(path, `${passingPrefix}${port.random(8)}`)
  await createWhole(port, passing, bytes)
  await port.rename(passing, join(path, snapshotName(snapshot.at)))
  await port.syncFolder(path)
}

/** Removes all but the newest, and what a crash left half written; those that are `passedOver` are none of them. */
export async function removeOldSnapshots(
  { port, path }: SessionFolder,
  passedOver: ReadonlySet<string>,
): Promise<void> {
  const names = await port.readdir(path)
  const snapshots = snapshotsIn(names).filter(({ name }) => !passedOver.has(name))
  const old = snapshots.slice(snapshotsKeptMax).map(({ name }) => name)
  const left = names.filter((name) => name.startsWith(passingPrefix))
  for (const name of [...old, ...left]) await cleanUp(() => port.unlink(join(path, name)))
}

/** Never fails for what stands there: a snapshot is a shortcut, and whoever needs it as a proof is told why it is none. */
export async function readSnapshot(
  folder: SessionFolder,
  { name, seq, digest }: SnapshotName,
): Promise<FoundSnapshot> {
  try {
    const found = await openUnder(folder, name)
    if (found.kind !== 'whole') return found
    const { at } = found.snapshot
    return at.seq === seq && at.digest.startsWith(digest) ? found : unfit('says another seq or digest')
  } catch (error) {
    if (hasReason(error, 'ENOENT')) return { kind: 'gone' }
    if (hasReason(error, 'ELOOP')) return unfit('is a link')
    if (hasReason(error, 'EISDIR')) return unfit('is a folder')
    if (isSystemFailure(error)) return { kind: 'unreadable', reason: error.code, cause: error }
    if (isSessionError(error) && error.code === 'STORAGE_FAILED') return unfit(error.message)
    throw error
  }
}

async function openUnder({ port, path }: SessionFolder, name: string): Promise<OpenedSnapshot> {
  const { file, stat } = await openFile(port, join(path, name))
  try {
    if (stat.sizeBytes > snapshotSizeBytesMax) return unfit(`has ${stat.sizeBytes} bytes`)
    return openSnapshot(await readSpan(file, 0, stat.sizeBytes))
  } finally {
    await file.close()
  }
}

function unfit(reason: string): OpenedSnapshot {
  return { kind: 'unfit', reason }
}
