import { SessionError, assert, isSessionError } from '@tidemark/session-core'
import type { Lease, OnPassedOver, Snapshot, SnapshotShelf, Tail } from '../storage.ts'
import { findChain, type Chain } from './chain.ts'
import { readChainThrough } from './chain-reader.ts'
import { guarded } from './failure.ts'
import { FolderMemory } from './folder-memory.ts'
import { JournalLease } from './lease.ts'
import { listNames } from './listing.ts'
import { glance, look } from './own-segment.ts'
import { PassedOver, passedOver } from './passed-over.ts'
import { isSystemFailure } from './port.ts'
import { commitEndingAt, seek } from './seek.ts'
import { isMissing, type SessionFolder } from './segment-file.ts'
import { setSnapshotAside } from './snapshot-aside.ts'
import type { StoredSnapshot } from './snapshot-envelope.ts'
import {
  readSnapshot,
  removeOldSnapshots,
  snapshotName,
  snapshotsIn,
  writeSnapshot,
  type FoundSnapshot,
  type SnapshotName,
} from './snapshot-file.ts'

/** Snapshots that are tried before the log is read instead. */
const triesMax = 4

/** The reasons for which the system refuses a file that it may give a moment later: no word about the file. */
const passing = ['EMFILE', 'ENFILE', 'ENOMEM', 'EAGAIN', 'EINTR']

/**
 * The journal's snapshots, beside the segments of their session.
 *
 * 1. What stands under a snapshot's name costs the shortcut, and never the session.
 * 2. Readers change nothing: what they passed over, the next holder sets aside.
 */
export class JournalSnapshots implements SnapshotShelf {
  private readonly passedOver = new PassedOver()

  constructor(private readonly find: (id: string) => Promise<SessionFolder>) {}

  async save(lease: Lease, { at, content }: Snapshot, onPassedOver?: OnPassedOver): Promise<void> {
    const { id } = lease.header
    if (!(lease instanceof JournalLease))
      throw new SessionError('FENCED', `${id}: that is no lease of this journal`, { sessionId: id })
    const { own, of, place } = lease.forSnapshot(at)
    const { folder } = own
    await guarded('writing a snapshot', async () => {
      await glance(own)
      if (place === undefined) await refuseUnheld(folder, lease.tail.seq, at)
      await this.clear(lease, at, onPassedOver)
      await writeSnapshot(folder, { epoch: lease.epoch, at, place, of, content })
      await look(own)
      await removeOldSnapshots(folder, this.passedOver.namesIn(folder.path))
    })
  }

  async load(id: string, through = Infinity, onPassedOver?: OnPassedOver): Promise<Snapshot | undefined> {
    return guarded('reading a snapshot', async () => {
      const folder = await this.find(id)
      const names = snapshotsIn(await listNames(folder)).filter(({ seq }) => seq <= through)
      if (names.length === 0) return undefined
      return this.firstOf(folder, names.slice(0, triesMax), onPassedOver)
    })
  }

  /** What was passed over in the folder of a lease that holds it now. What cannot be set aside stays in its place. */
  async setAside(lease: Lease, onPassedOver?: OnPassedOver): Promise<void> {
    if (!(lease instanceof JournalLease)) return
    const { own } = lease.forSnapshot(lease.tail)
    const folder = { ...own.folder, memory: new FolderMemory() }
    for (const name of this.passedOver.namesIn(folder.path)) {
      try {
        const found = await this.look(folder, name)
        if (found.kind === 'unreadable' && passing.includes(found.reason)) continue
        if (found.kind === 'unfit' || found.kind === 'unreadable') {
          await setSnapshotAside(own, name)
          if (!this.passedOver.isTold(folder.path, name)) onPassedOver?.(passedOver(folder.id, name, found))
        }
        this.passedOver.remove(folder.path, name)
      } catch (error) {
        if (!isSystemFailure(error) && !isSessionError(error)) throw error // the host hears of it when it is read
      }
    }
  }

  /**
   * Makes room for a snapshot: what stands under its name and is none is not replaced, nor removed what a repair left of
   * a longer log.
   */
  private async clear(lease: JournalLease, at: Tail, onPassedOver?: OnPassedOver): Promise<void> {
    const { port, path, id } = lease.forSnapshot(at).own.folder
    const wanted = snapshotName(at)
    for (const { name, seq } of snapshotsIn(await port.readdir(path)))
      if (name === wanted || seq > lease.tail.seq) this.passedOver.add(path, name, { isTold: false })
    await this.setAside(lease, onPassedOver)
    if (!this.passedOver.namesIn(path).has(wanted)) return
    const message = `${id}: what stands under ${wanted} is no snapshot, and cannot be set aside`
    throw new SessionError('STORAGE_FAILED', message, { sessionId: id, segment: wanted })
  }

  private async firstOf(
    folder: SessionFolder,
    names: readonly SnapshotName[],
    onPassedOver: OnPassedOver | undefined,
  ): Promise<Snapshot | undefined> {
    const { path, id } = folder
    try {
      const chain = await findChain(folder)
      for (const { name } of names) {
        const found = await this.look(folder, name, chain)
        if (found.kind === 'whole') {
          this.passedOver.remove(path, name)
          return { at: found.snapshot.at, content: found.snapshot.content }
        }
        if (found.kind !== 'unfit' && found.kind !== 'unreadable') continue
        this.passedOver.add(path, name, { isTold: onPassedOver !== undefined })
        onPassedOver?.(passedOver(id, name, found))
      }
    } catch (error) {
      // What the log holds now, and whether it is whole, the read that follows says.
      if (!isMissing(error) && !(isSessionError(error) && error.code === 'TAIL_MOVED')) throw error
    }
    return undefined
  }

  private async look(folder: SessionFolder, name: string, known?: Chain): Promise<FoundSnapshot> {
    const [parsed] = snapshotsIn([name])
    assert(parsed, 'a snapshot has a name of its own')
    const found = await readSnapshot(folder, parsed)
    if (found.kind !== 'whole' || (await isOf(folder, known ?? (await findChain(folder)), found.snapshot)))
      return found
    return { kind: 'unfit', reason: 'is of another log' }
  }
}

/** @throws SessionError `TAIL_MOVED` unless a batch of the log ends there. */
async function refuseUnheld(own: SessionFolder, lastSeq: number, at: Tail): Promise<void> {
  const { id } = own
  const folder = { ...own, memory: new FolderMemory() }
  const isWithin = at.seq >= 0 && at.seq <= lastSeq
  if (isWithin && (await isOf(folder, await findChain(folder), { at }))) return
  const message = `${id}: no batch of its log, which ends at seq ${lastSeq}, ends at seq ${at.seq} as the snapshot says`
  throw new SessionError('TAIL_MOVED', message, { sessionId: id, intactThrough: lastSeq })
}

/** Whether a log holds what a snapshot stands for: then a commit line says its digest. */
async function isOf(
  folder: SessionFolder,
  chain: Chain,
  { at, place }: Pick<StoredSnapshot, 'at' | 'place'>,
): Promise<boolean> {
  const link = chain.links.find(({ name }) => name === place?.segment)
  const hinted = link && place && (await commitEndingAt(folder, link, place.offset))
  if (hinted) return hinted.seq === at.seq && hinted.digest === at.digest
  const from = await seek(folder, chain, { kind: 'seq', seq: at.seq })
  let isHeld = false
  await readChainThrough(folder, { chain, from, through: at.seq }, ({ end: { tail } }) => {
    isHeld ||= tail.seq === at.seq && tail.digest === at.digest
  })
  return isHeld
}
