import { assert } from '@tidemark/session-core'
import type { Tail } from '../../storage.ts'
import { filesOf, type DiskImage } from '../disk/image.ts'
import { SimulatedDisk } from '../disk/simulated-disk.ts'
import type { Problem } from '../finding.ts'
import { Ledger, type KnownSession } from '../story/ledger.ts'
import { Teller } from '../story/teller.ts'
import type { Subject } from '../subject.ts'

export interface SoundLogTerms {
  readonly batchesCount: number
  readonly seed: number
  /** `open`: its writer crashed; `closed`: it released its lease. */
  readonly end: 'open' | 'closed'
}

/** A log to be damaged, and the truth about it. */
export interface SoundLog {
  readonly image: DiskImage
  readonly known: KnownSession
  /** Where the log ended after each batch. */
  readonly tails: readonly Tail[]
  /** Events that a head, at most a second late, has proven durable. */
  readonly provenCount: number
  /** What the files that are written over held before, by path. */
  readonly stale: ReadonlyMap<string, readonly Buffer[]>
  /** The last content of files that were there and were removed, by path. */
  readonly removed: ReadonlyMap<string, Buffer>
  readonly problems: readonly Problem[]
}

/** The session that the log is of. */
export const soundId = 'a'

const epochsCount = 4
/** More than the second in which a durable head may be late. */
const headMsMax = 1_500
/** Batches at the end that no head of the log may tell of yet, and between two heads. */
const unprovenBatchesMax = 3
const headEvery = 3
/** Batches that come after a snapshot was saved. The last head tells of more than the last snapshot. */
const snapshotsAt: readonly number[] = [12, 9, 6]

/** Writes a log over several epochs: one is closed, one is taken over from, the last one ends as is wanted. */
export async function writeSoundLog(
  subject: Subject,
  { batchesCount, seed, end }: SoundLogTerms,
): Promise<SoundLog> {
  const disk = new SimulatedDisk({ seed, isRecorded: true })
  const teller = new Teller({ subject, disk, ledger: new Ledger(), seed })
  let provenCount = 0
  let lease = await teller.create(soundId)
  const tails: Tail[] = []
  for (let batch = 0; batch < batchesCount && lease; batch++) {
    const epoch = Math.floor((batch * epochsCount) / batchesCount)
    const isNext = batch > 0 && epoch > Math.floor(((batch - 1) * epochsCount) / batchesCount)
    if (isNext && epoch % 2 === 1) await teller.release(lease)
    if (isNext) {
      teller.reopen()
      lease = await teller.acquire(soundId)
    }
    if (lease === undefined) break
    await teller.append(
      lease,
      Array.from({ length: 1 + teller.random.below(2) }, () => 3),
    )
    tails.push(lease.tail)
    const left = batchesCount - 1 - batch
    if (left < unprovenBatchesMax || left % headEvery !== 0) continue
    await disk.advance(headMsMax)
    provenCount = lease.tail.seq + 1
    if (snapshotsAt.includes(left)) await teller.save(lease)
  }
  if (end === 'closed' && lease) {
    await teller.release(lease)
    provenCount = lease.tail.seq + 1
  }
  const known = teller.known(soundId)
  assert(known, 'a log that was written is known')
  const { problems } = teller
  const gone = { stale: staleOf(disk), removed: removedFrom(disk) }
  return { image: disk.image(), known, tails, provenCount, ...gone, problems }
}

/** Files that are gone, as they last were. */
function removedFrom(disk: SimulatedDisk): Map<string, Buffer> {
  const { images, operations } = disk.recording
  const removed = new Map<string, Buffer>()
  for (const [index, { name, path }] of operations.entries()) {
    const before = images[index]
    if (name !== 'unlink' || before === undefined) continue
    const content = filesOf(before).get(path)
    if (content) removed.set(path, content)
  }
  for (const path of disk.files().keys()) removed.delete(path)
  return removed
}

/** Each other content of the same size that a file had, of files that are written over. */
function staleOf(disk: SimulatedDisk): Map<string, Buffer[]> {
  const stale = new Map<string, Buffer[]>()
  const { images, operations } = disk.recording
  for (const [path, content] of disk.files()) {
    const inode = inodeOf(operations, path)
    const before = images.flatMap(({ nodes }) => {
      const node = inode === undefined ? undefined : nodes.get(inode)
      return node?.kind === 'file' ? [node.content] : []
    })
    const isOlder = (each: Buffer): boolean =>
      each.length > 0 && !content.subarray(0, each.length).equals(each)
    const older = [...new Set(before.filter(isOlder))]
    if (older.length > 0) stale.set(path, older)
  }
  return stale
}

function inodeOf(operations: SimulatedDisk['recording']['operations'], path: string): number | undefined {
  const write = operations.findLast((operation) => operation.name === 'write' && operation.path === path)
  return write?.name === 'write' ? write.inode : undefined
}
