import { join, resolve } from 'node:path'
import { SessionError, refuseId, type SessionHeader, type SessionRecovered } from '@tidemark/session-core'
import { pageOf, type SummaryPage } from '../summary.ts'
import type * as seam from '../storage.ts'
import { unknownSession } from '../unknown-session.ts'
import { batchesOf, bearSession, type Birth } from './birth.ts'
import { findChain, sessionIn } from './chain.ts'
import { claimSession, type ClaimTerms } from './claim.ts'
import { guarded } from './failure.ts'
import { folderName, passingPrefixes } from './folder-name.ts'
import { journalCapabilities, type Durability, type JournalLease } from './lease.ts'
import { hasReason, type JournalPort } from './port.ts'
import { exists, nearest } from './private-file.ts'
import { removeFolder } from './removal.ts'
import { repairSession } from './repair.ts'
import { salvageSession } from './salvage.ts'
import type { SessionFolder } from './segment-file.ts'
import { findStore, openStore, settleStore, type Store } from './store.ts'
import { inherited, storedBatches } from './stored-batches.ts'
import { Survey } from './survey.ts'
import { verifySession } from './verify.ts'

export interface JournalOptions {
  /** The folder that holds everything. Created, with its parents, at the first session. */
  readonly root: string
  readonly port: JournalPort
  /** Default: `lazy`. */
  readonly durability?: Durability | undefined
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
  private readonly survey = new Survey()
  private isSettled = false
  private isClosed = false

  constructor(private readonly options: JournalOptions) {
    this.root = resolve(options.root)
    this.port = options.port
  }

  create(session: SessionHeader, { claim, seed = [] }: seam.CreateTerms): Promise<seam.Lease> {
    return this.perform('creating a session', session.id, async () => {
      const store = await this.open()
      return this.bear(store, { session, batches: eachOf(batchesOf(session.id, seed)) }, claim)
    })
  }

  acquire(id: string, { claim, force, receipt }: seam.AcquireTerms): Promise<seam.Lease> {
    return this.perform('claiming a session', id, async () => {
      const { folder, secret } = await this.findToWrite(id)
      return this.keep(await claimSession(folder, { ...this.terms(secret, claim), force, receipt }))
    })
  }

  read(id: string, terms: seam.ReadTerms = {}): Promise<seam.StoredLog> {
    return this.perform('reading a session', id, async () => {
      const { folder, secret } = await this.find(id)
      const header = sessionIn(await findChain(folder), id)
      let rest: seam.Rest | undefined
      const onRest = (found: seam.Rest): void => void (rest = found)
      return { header, batches: storedBatches(folder, { ...terms, secret, onRest }), rest: () => rest }
    })
  }

  fork({ id, through }: seam.ForkSource, session: SessionHeader, claim: seam.Claim): Promise<seam.Lease> {
    return this.perform('forking a session', session.id, async () => {
      refuseId(id)
      const { folder } = await this.find(id)
      const store = await this.open()
      return this.bear(store, { session, batches: inherited(folder, through) }, claim)
    })
  }

  async list({ after, countMax }: seam.ListTerms): Promise<SummaryPage> {
    this.refuseClosed()
    return guarded('listing sessions', async () => {
      const store = await findStore(this.port, this.root)
      return pageOf(store ? await this.survey.list(store) : [], after, countMax)
    })
  }

  remove(id: string): Promise<void> {
    return this.perform('removing a session', id, async () => {
      const { folder, sessionsPath } = await this.findToWrite(id)
      const { port, path } = folder
      const aside = join(sessionsPath, `${passingPrefixes.removing}${port.random(8)}`)
      try {
        await port.rename(path, aside)
      } catch (error) {
        throw hasReason(error, 'ENOENT') ? unknownSession(id) : error
      }
      await port.syncFolder(sessionsPath)
      await removeFolder(port, aside)
    })
  }

  verify(id: string): Promise<seam.Verdict> {
    return this.perform('verifying a session', id, async () => {
      const { folder, secret } = await this.find(id)
      return verifySession(folder, secret)
    })
  }

  repair(id: string, { claim, acceptLossAfter, force }: seam.RepairTerms): Promise<SessionRecovered> {
    return this.perform('repairing a session', id, async () => {
      const { folder, secret } = await this.findToWrite(id)
      return repairSession(folder, acceptLossAfter, { ...this.terms(secret, claim), force })
    })
  }

  salvage(id: string): Promise<seam.SalvagedLog> {
    return this.perform('salvaging a session', id, async () => salvageSession((await this.find(id)).folder))
  }

  async close(): Promise<void> {
    this.isClosed = true
    const released = await Promise.allSettled([...this.leases].map((lease) => lease.release()))
    for (const outcome of released) if (outcome.status === 'rejected') throw outcome.reason
  }

  private async bear(store: Store, birth: Birth, claim: seam.Claim): Promise<seam.Lease> {
    return this.keep(await bearSession(store, birth, this.terms(store.secret, claim)))
  }

  private terms(secret: string, claim: seam.Claim): ClaimTerms {
    const { durability = 'lazy' } = this.options
    return { claim, secret, durability, onRelease: (lease) => this.leases.delete(lease) }
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
    await this.refuseNetwork(found.folder.path)
    await this.settle(found)
    await this.port.syncFolder(found.sessionsPath)
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
  private async keep(lease: JournalLease): Promise<seam.Lease> {
    this.leases.add(lease)
    if (!this.isClosed) return lease
    await lease.release()
    throw closed()
  }

  private async find(id: string): Promise<Store & { readonly folder: SessionFolder }> {
    const store = await findStore(this.port, this.root)
    if (store === undefined) throw unknownSession(id)
    return { ...store, folder: { port: store.port, id, path: join(store.sessionsPath, folderName(id)) } }
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

async function* eachOf<T>(items: Iterable<T>): AsyncGenerator<T, void> {
  yield* items
}

function closed(): SessionError {
  return new SessionError('DISPOSED', 'this storage is closed')
}
