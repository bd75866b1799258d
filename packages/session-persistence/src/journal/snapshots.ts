import { SessionError, isSessionError } from '@tidemark/session-core'
import type { Lease, Snapshot, SnapshotShelf } from '../storage.ts'
import { findChain, type Chain } from './chain.ts'
import { listNames } from './listing.ts'
import { guarded } from './failure.ts'
import { JournalLease } from './lease.ts'
import { glance, look } from './own-segment.ts'
import { commitEndingAt, seek } from './seek.ts'
import { readChainThrough } from './chain-reader.ts'
import { isMissing, type SessionFolder } from './segment-file.ts'
import {
  readSnapshot,
  removeOldSnapshots,
  snapshotsIn,
  writeSnapshot,
  type SnapshotName,
  type StoredSnapshot,
} from './snapshot-file.ts'

/** Snapshots that are tried before the log is read instead. */
const triesMax = 4

/** The journal's snapshots, beside the segments of their session. */
export class JournalSnapshots implements SnapshotShelf {
  constructor(private readonly find: (id: string) => Promise<SessionFolder>) {}

  async save(lease: Lease, { at, content }: Snapshot): Promise<void> {
    const { id } = lease.header
    if (!(lease instanceof JournalLease))
      throw new SessionError('FENCED', `${id}: that is no lease of this journal`, { sessionId: id })
    const { own, place } = lease.placeOf(at)
    if (place === undefined && at.seq > lease.tail.seq) {
      const message = `${id}: the log ends at seq ${lease.tail.seq}, and a snapshot says ${at.seq}`
      throw new SessionError('TAIL_MOVED', message, { sessionId: id, intactThrough: lease.tail.seq })
    }
    await guarded('writing a snapshot', async () => {
      await glance(own)
      await writeSnapshot(own.folder, { epoch: lease.epoch, at, place, content })
      await look(own)
      await removeOldSnapshots(own.folder, lease.tail.seq)
    })
  }

  async load(id: string, through = Infinity): Promise<Snapshot | undefined> {
    return guarded('reading a snapshot', async () => {
      const folder = await this.find(id)
      const names = snapshotsIn(await listNames(folder)).filter(({ seq }) => seq <= through)
      if (names.length === 0) return undefined
      return this.firstOf(folder, names.slice(0, triesMax))
    })
  }

  private async firstOf(
    folder: SessionFolder,
    names: readonly SnapshotName[],
  ): Promise<Snapshot | undefined> {
    const chain = await findChain(folder)
    try {
      for (const name of names) {
        const snapshot = await readSnapshot(folder, name)
        if (snapshot && (await isOf(folder, chain, snapshot)))
          return { at: snapshot.at, content: snapshot.content }
      }
    } catch (error) {
      // What the log holds now, and whether it is whole, the read that follows says.
      if (!isMissing(error) && !(isSessionError(error) && error.code === 'TAIL_MOVED')) throw error
    }
    return undefined
  }
}

/** Whether a log holds what a snapshot stands for: then a commit line says its digest. */
async function isOf(folder: SessionFolder, chain: Chain, { at, place }: StoredSnapshot): Promise<boolean> {
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
