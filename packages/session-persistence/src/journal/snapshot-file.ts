import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { SessionError } from '@tidemark/session-core'
import { z } from 'zod'
import { fitting } from '../fitting.ts'
import { encodePieces, parseMessagePack } from '../msgpack.ts'
import type { Snapshot, Tail } from '../storage.ts'
import { createWhole, openFile } from './private-file.ts'
import { hasReason, type JournalPort } from './port.ts'
import { readSpan, type SessionFolder } from './segment-file.ts'
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

/** A snapshot, and where the log ended when it was taken: a hint, found again by seq and digest. */
export interface StoredSnapshot extends Snapshot {
  readonly epoch: number
  readonly place?: Place | undefined
}

export interface Place {
  readonly segment: string
  readonly offset: number
}

/** Those that the names tell of, newest first. */
export function snapshotsIn(names: readonly string[]): readonly SnapshotName[] {
  const found = names.flatMap((name) => {
    const match = /^snapshot-(\d{1,15})-([0-9a-f]{16})\.msgpack$/.exec(name)
    return match ? [{ name, seq: Number(match[1]), digest: match[2] ?? '' }] : []
  })
  return found.sort((a, b) => b.seq - a.seq)
}

function nameOf({ seq, digest }: Tail): string {
  return `snapshot-${seq}-${digest.slice(0, 16)}.msgpack`
}

/**
 * Writes a snapshot under a name of its own and then gives it its name, so that it is there whole or not at all.
 * @throws the port's failures; a name that is there already is a snapshot of the same.
 */
export async function writeSnapshot(folder: SessionFolder, snapshot: StoredSnapshot): Promise<void> {
  const { port, path } = folder
  const bytes = seal(snapshot)
  if (bytes.length > snapshotSizeBytesMax) {
    const message = `${folder.id}: a snapshot of ${bytes.length} bytes, at most ${snapshotSizeBytesMax}`
    throw new SessionError('INVALID_PAYLOAD', message, { sessionId: folder.id })
  }
  const passing = join(path, `${passingPrefix}${port.random(8)}`)
  await createWhole(port, passing, bytes)
  await port.rename(passing, join(path, nameOf(snapshot.at)))
  await port.syncFolder(path)
}

/**
 * Removes all but the newest, what a crash left half written, and what is of a later seq than the log's last: that is
 * of events which a repair gave up, and would count as newer than any that is written until the log is as long again.
 */
export async function removeOldSnapshots({ port, path }: SessionFolder, lastSeq: number): Promise<void> {
  const names = await port.readdir(path)
  const snapshots = snapshotsIn(names)
  const kept = snapshots.filter(({ seq }) => seq <= lastSeq).slice(0, snapshotsKeptMax)
  const old = snapshots.filter((each) => !kept.includes(each)).map(({ name }) => name)
  const left = names.filter((name) => name.startsWith(passingPrefix))
  for (const name of [...old, ...left]) await cleanUp(() => port.unlink(join(path, name)))
}

/** `undefined` when it does not prove itself, or is gone. */
export async function readSnapshot(
  { port, path }: SessionFolder,
  { name, seq, digest }: SnapshotName,
): Promise<StoredSnapshot | undefined> {
  const bytes = await readWhole(port, join(path, name))
  const snapshot = bytes && open(bytes)
  return snapshot?.at.seq === seq && snapshot.at.digest.startsWith(digest) ? snapshot : undefined
}

async function readWhole(port: JournalPort, path: string): Promise<Buffer | undefined> {
  try {
    const { file, stat } = await openFile(port, path)
    try {
      if (stat.sizeBytes > snapshotSizeBytesMax) return undefined
      return await readSpan(file, 0, stat.sizeBytes)
    } finally {
      await file.close()
    }
  } catch (error) {
    if (!hasReason(error, 'ENOENT', 'ELOOP')) throw error
    return undefined // removed meanwhile, or not ours
  }
}

function seal({ epoch, at: { seq, digest }, place, content }: StoredSnapshot): Buffer {
  const envelope = { format: 1, epoch, seq, digest, ...place }
  const sum = sumOf(envelope, content)
  return Buffer.concat([...encodePieces({ ...envelope, sum, content })])
}

function open(bytes: Buffer): StoredSnapshot | undefined {
  const parsed = fitting(schema, parseMessagePack(bytes))
  if (parsed === undefined) return undefined
  const { sum, content, ...envelope } = parsed
  if (sumOf(envelope, content) !== sum) return undefined
  const { epoch, seq, digest, segment, offset } = envelope
  const place = segment !== undefined && offset !== undefined ? { segment, offset } : undefined
  return { epoch, at: { seq, digest }, place, content }
}

interface Envelope {
  readonly format: number
  readonly epoch: number
  readonly seq: number
  readonly digest: string
  readonly segment?: string | undefined
  readonly offset?: number | undefined
}

function sumOf({ format, epoch, seq, digest, segment, offset }: Envelope, content: Uint8Array): string {
  const fields = JSON.stringify([format, epoch, seq, digest, segment ?? null, offset ?? null])
  return createHash('sha256').update(fields).update(content).digest('hex')
}

const envelopeSchema = z.object({
  format: z.literal(1),
  epoch: z.int().min(1),
  seq: z.int().min(-1),
  digest: z.string().regex(/^[0-9a-f]{64}$/),
  segment: z.string().optional(),
  offset: z.int().min(0).optional(),
})

const schema = envelopeSchema.extend({ sum: z.string(), content: z.instanceof(Uint8Array) })
