import { join, resolve } from 'node:path'
import { SessionError, refuseId, type SessionHeader, type SessionRecovered } from '@tidemark/session-core'
import type { SummaryPage } from '../summary.ts'
import type * as seam from '../storage.ts'
import { unknownSession } from '../unknown-session.ts'
import { BlockTexts } from './block-texts.ts'
import { batchesOf, bearSession, type Birth } from './birth.ts'
import { sessionIn } from './chain.ts'
import { claimSession, type ClaimTerms } from './claim.ts'
import { failure, guarded } from './failure.ts'
import { FolderMemory } from './folder-memory.ts'
import { followLog } from './follow.ts'
import { folderName } from './folder-name.ts'
import { Recent } from './recent.ts'
import { journalCapabilities } from './capabilities.ts'
import type { JournalLease, LeaseTerms } from './lease.ts'
import type { Durability } from './lease-head.ts'
import { inherit } from './inheritance.ts'
import { IndexWriter } from './index-writer.ts'
import { findChainThrough } from './intact.ts'
import type { JournalPort } from './port.ts'
import { exists, nearest } from './private-file.ts'
import { removeSession } from './removal.ts'
import { repairSession } from './repair.ts'
import { salvageSession } from './salvage.ts'
import type { SessionFolder } from './segment-file.ts'
import { JournalSnapshots } from './snapshots.ts'
import { findStore, openStore, settleStore, type Store } from './store.ts'
import { storedBatches } from './stored-batches.ts'
import { verifySession } from './verify.ts'

export interface JournalOptions {
  /** The folder that holds everything. Created, with its parents, at the first session. */
  readonly root: string
  readonly port: JournalPort
  /** Default: `lazy`. */
  readonly durability?: Durability | undefined
  /** A segment that is larger is followed by another one. Default: 16 MiB. */
  readonly segmentSizeBytesMax?: number | undefined
  /** Packs what is sealed, to a sixth of its size. Default: true. */
  readonly compress?: boolean | undefined
  /** Lets the journal write where other machines may write too. Default: false. */
  readonly allowNetworkFs?: boolean | undefined
}

/**
 * Sessions as JSON Lines in a folder of this machine.
 *
 * 1. Constructing it touches nothing; reading creates nothing.
 * 2. What it holds open is released by `close`.
 */
export class JournalStorage implements seam.SessionStorage {
  readonly capabilities = journalCapabilities
  private readonly root: string
  private readonly port: JournalPort
  private readonly leases = new Set<JournalLease>()
  private readonly index = new IndexWriter()
  readonly snapshots = new JournalSnapshots(async (id) => {
    refuseId(id)
    this.refuseClosed()
    return (await this.find(id)).folder
  })
  private readonly memories: Recent<FolderMemory>
  private readonly stores: Recent<Store>
  private readonly texts: BlockTexts
  private isSettled = false
  private isClosed = false

  constructor(private readonly options: JournalOptions) {
    this.root = resolve(options.root)
    this.port = options.port
    this.memories = new Recent(options.port)
    this.stores = new Recent(options.port)
    this.texts = new BlockTexts(options.port)
  }

  create(session: SessionHeader, { claim, seed = [] }: seam.CreateTerms): Promise<seam.Lease> {
    return this.perform('creating a session', session.id, async () => {
      const store = await this.open()
      return this.bear(store, { session, batches: batchesOf(session.id, seed) }, claim)
    })
  }

  acquire(id: string, { claim, force, receipt }: seam.AcquireTerms): Promise<seam.Lease> {
    return this.perform('claiming a session', id, async () => {
      const { folder, ...store } = await this.findToWrite(id)
      const lease = await claimSession(folder, { ...this.terms(store.secret, claim), force, receipt })
      return this.keep(store, lease, claim)
    })
  }

  read(id: string, terms: seam.ReadTerms = {}): Promise<seam.StoredLog> {
    return this.perform('reading a session', id, async () => {
      const { folder, secret } = await this.find(id)
      const found = await findChainThrough(folder, terms)
      let rest: seam.Rest | undefined
      const onRest = (told: seam.Rest): void => void (rest = told)
      const batches = storedBatches(folder, { ...terms, found, secret, onRest })
      return { header: sessionIn(found, id), batches, rest: () => rest }
    })
  }

  async *follow(id: string, terms: seam.FollowTerms): AsyncGenerator<seam.StoredBatch, void> {
    const { folder } = await this.perform('following a session', id, () => this.find(id))
    try {
      for await (const { epoch, writer, events, end, isDurable } of followLog(folder, terms))
        yield { epoch, writer, events, tail: end.tail, isDurable }
    } catch (error) {
      throw failure('following a session', error)
    }
  }

  fork(source: seam.ForkSource, session: SessionHeader, claim: seam.Claim): Promise<seam.Lease> {
    const { id, through, receipt } = source
    return this.perform('forking a session', session.id, async () => {
      refuseId(id)
      const { folder } = await this.find(id)
      const store = await this.open()
      if (through === -1) return this.bear(store, { session }, claim)
      const living = [...this.leases].find(({ header }) => header.id === id)
      const terms = { through, receipt, durableSeq: living?.tail.seq ?? -1 }
      return this.bear(store, { session, inherit: (into) => inherit(folder, into, terms) }, claim)
    })
  }

  async list({ after, countMax }: seam.ListTerms): Promise<SummaryPage> {
    this.refuseClosed()
    return guarded('listing sessions', async () => {
      const store = await findStore(this.port, this.root)
      return this.index.page(store, { after, countMax })
    })
  }

  remove(id: string, terms?: seam.RemoveTerms): Promise<void> {
    return this.perform('removing a session', id, async () => {
      const { folder, ...store } = await this.findToWrite(id)
      await this.index.around(store, id, () => removeSession(store, folder, terms))
    })
  }

  verify(id: string): Promise<seam.Verdict> {
    return this.perform('verifying a session', id, async () => {
      const { folder, secret } = await this.find(id)
      folder.memory.forget() // it reads everything
      return verifySession(folder, secret)
    })
  }

  repair(id: string, { claim, acceptLossAfter, force }: seam.RepairTerms): Promise<SessionRecovered> {
    return this.perform('repairing a session', id, async () => {
      const { folder, ...store } = await this.findToWrite(id)
      const terms = { ...this.terms(store.secret, claim), force }
      return this.index.around(store, id, () => repairSession(folder, acceptLossAfter, terms))
    })
  }

  salvage(id: string): Promise<seam.SalvagedLog> {
    return this.perform('salvaging a session', id, async () => salvageSession((await this.find(id)).folder))
  }

  async close(): Promise<void> {
    this.isClosed = true
    this.texts.clear()
    const released = await Promise.allSettled([...this.leases].map((lease) => lease.release()))
    for (const outcome of released) if (outcome.status === 'rejected') throw outcome.reason
  }

  private async bear(store: Store, birth: Birth, claim: seam.Claim): Promise<seam.Lease> {
    return this.keep(store, await bearSession(store, birth, this.terms(store.secret, claim)), claim)
  }

  private terms(secret: string, claim: seam.Claim): ClaimTerms & LeaseTerms {
    const { durability = 'lazy', segmentSizeBytesMax, compress } = this.options
    const onRelease = (lease: JournalLease): unknown => this.leases.delete(lease)
    return { claim, secret, durability, segmentSizeBytesMax, compress, onRelease }
  }

  /** Opens the store to write to it. */
  private async open(): Promise<Store> {
    await this.refuseNetwork(await nearest(this.port, this.root))
    const store = await openStore(this.port, this.root)
    await this.settle(store)
    return store
  }

  /** Finds a session to write to it, and makes the names durable that lead to it. */
  private async findToWrite(id: string): Promise<Store & { readonly folder: SessionFolder }> {
    const found = await this.find(id)
    if (!(await exists(this.port, found.folder.path))) throw unknownSession(id)
    await this.refuseNetwork(found.sessionsPath)
    await Promise.all([this.settle(found), this.port.syncFolder(found.sessionsPath)])
    return found
  }

  /** Once is enough: names that are durable stay so. */
  private async settle(store: Store): Promise<void> {
    if (this.isSettled) return
    await settleStore(store)
    this.isSettled = true
  }

  /** @throws SessionError `STORAGE_FAILED` where neither locks nor syncs hold what they promise. */
  private async refuseNetwork(path: string): Promise<void> {
    if (this.options.allowNetworkFs) return
    const reason = await this.port.networkFs(path)
    if (reason === undefined) return
    const message = `the journal's root is on ${reason}, a network file system; nothing was changed`
    throw new SessionError('STORAGE_FAILED', message, { reason })
  }

  /** A lease that was taken while the storage closed is of no use to anybody. */
  private async keep(store: Store, lease: JournalLease, claim: seam.Claim): Promise<seam.Lease> {
    this.leases.add(lease)
    await this.index.attend(store, lease, claim.incarnation)
    await this.snapshots.setAside(lease)
    if (!this.isClosed) return lease
    await lease.release()
    throw closed()
  }

  private async find(id: string): Promise<Store & { readonly folder: SessionFolder }> {
    const store = await this.findStore()
    if (store === undefined) throw unknownSession(id)
    const path = join(store.sessionsPath, folderName(id))
    const memory = this.memories.keep(path, this.memories.find(path) ?? new FolderMemory(this.texts))
    return { ...store, folder: { port: store.port, id, path, memory } }
  }

  /** Remembered from when it was found, and not from when it was asked for: in the end it is looked at again. */
  private async findStore(): Promise<Store | undefined> {
    const known = this.stores.find(this.root)
    if (known) return known
    const store = await findStore(this.port, this.root)
    return store && this.stores.keep(this.root, store)
  }

  private async perform<T>(what: string, id: string, work: () => Promise<T>): Promise<T> {
    refuseId(id)
    this.refuseClosed()
    return guarded(what, work)
  }

  private refuseClosed(): void {
    if (this.isClosed) throw closed()
  }
}

function closed(): SessionError {
  return new SessionError('DISPOSED', 'this storage is closed')
}
