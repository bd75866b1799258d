import { join, resolve } from 'node:path'
import { SessionError, isSessionError, refuseId, type SessionHeader } from '@tidemark/session-core'
import { encodeEvent, type EncodedEvent } from '../encoded-event.ts'
import { pageOf, type SummaryPage } from '../summary.ts'
import type * as seam from '../storage.ts'
import { unknownSession } from '../unknown-session.ts'
import { batchesOf, bearSession, type Birth } from './birth.ts'
import { findChain, sessionIn } from './chain.ts'
import { claimSession } from './claim.ts'
import { failure, guarded } from './failure.ts'
import { folderName, passingPrefixes } from './folder-name.ts'
import { journalCapabilities, type JournalLease } from './lease.ts'
import { readLog, readToEnd } from './log-reader.ts'
import { hasReason, type JournalPort } from './port.ts'
import type { SessionFolder } from './segment-file.ts'
import { findStore, openStore, type Store } from './store.ts'
import { Survey } from './survey.ts'

export interface JournalOptions {
  /** The folder that holds everything. Created, with its parents, at the first session. */
  readonly root: string
  readonly port: JournalPort
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
  private isClosed = false

  constructor({ root, port }: JournalOptions) {
    this.root = resolve(root)
    this.port = port
  }

  create(session: SessionHeader, { claim, seed = [] }: seam.CreateTerms): Promise<seam.Lease> {
    return this.perform('creating a session', session.id, async () => {
      const store = await openStore(this.port, this.root)
      return this.bear(store, { session, batches: eachOf(batchesOf(session.id, seed)) }, claim)
    })
  }

  acquire(id: string, { claim }: seam.AcquireTerms): Promise<seam.Lease> {
    return this.perform('claiming a session', id, async () => {
      const folder = await this.folderOf(id)
      return this.keep(await claimSession(folder, { claim, onRelease: (lease) => this.leases.delete(lease) }))
    })
  }

  read(id: string, { from = 0 }: seam.ReadTerms = {}): Promise<seam.StoredLog> {
    return this.perform('reading a session', id, async () => {
      const folder = await this.folderOf(id)
      const header = sessionIn(await findChain(folder), id)
      return { header, batches: storedBatches(folder, from) }
    })
  }

  fork({ id, through }: seam.ForkSource, session: SessionHeader, claim: seam.Claim): Promise<seam.Lease> {
    return this.perform('forking a session', session.id, async () => {
      refuseId(id)
      const source = await this.folderOf(id)
      const store = await openStore(this.port, this.root)
      return this.bear(store, { session, batches: inherited(source, through) }, claim)
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
      const { port, path } = await this.folderOf(id)
      const { sessionsPath } = await openStore(port, this.root)
      const aside = join(sessionsPath, `${passingPrefixes.removing}${port.random(8)}`)
      try {
        await port.rename(path, aside)
      } catch (error) {
        throw hasReason(error, 'ENOENT') ? unknownSession(id) : error
      }
      await port.syncFolder(sessionsPath)
      for (const name of await port.readdir(aside)) await port.unlink(join(aside, name))
      await port.rmdir(aside)
    })
  }

  verify(id: string): Promise<seam.Verdict> {
    return this.perform('verifying a session', id, async () => {
      const folder = await this.folderOf(id)
      try {
        const { tail } = await readToEnd(folder)
        return { kind: 'intact', tail }
      } catch (error) {
        if (!isSessionError(error) || error.code === 'NOT_FOUND') throw error
        const { code, message, details } = error
        const { intactThrough } = details
        return {
          kind: 'damaged',
          code,
          reason: message,
          ...(intactThrough !== undefined && { intactThrough }),
        }
      }
    })
  }

  async close(): Promise<void> {
    this.isClosed = true
    const released = await Promise.allSettled([...this.leases].map((lease) => lease.release()))
    for (const outcome of released) if (outcome.status === 'rejected') throw outcome.reason
  }

  private async bear(store: Store, birth: Birth, claim: seam.Claim): Promise<seam.Lease> {
    return this.keep(
      await bearSession(store, birth, { claim, onRelease: (lease) => this.leases.delete(lease) }),
    )
  }

  /** A lease that was taken while the storage closed is of no use to anybody. */
  private async keep(lease: JournalLease): Promise<seam.Lease> {
    this.leases.add(lease)
    if (!this.isClosed) return lease
    await lease.release()
    throw closed()
  }

  private async folderOf(id: string): Promise<SessionFolder> {
    const store = await findStore(this.port, this.root)
    if (store === undefined) throw unknownSession(id)
    return { port: store.port, id, path: join(store.sessionsPath, folderName(id)) }
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

async function* storedBatches(folder: SessionFolder, from: number): AsyncGenerator<seam.StoredBatch, void> {
  try {
    for await (const { epoch, writer, events, end } of readLog(folder)) {
      yield { epoch, writer, events: events.filter(({ seq }) => seq >= from), tail: end.tail }
    }
  } catch (error) {
    throw failure('reading a session', error)
  }
}

/** What a fork begins with. @throws SessionError `INVALID_SEQ` when the source ends earlier. */
async function* inherited(
  source: SessionFolder,
  through: number,
): AsyncGenerator<readonly EncodedEvent[], void> {
  let lastSeq = -1
  for await (const { events } of readLog(source)) {
    const batch = events.filter(({ seq }) => seq <= through)
    if (batch.length > 0) yield batch.map(encodeEvent)
    lastSeq = batch.at(-1)?.seq ?? lastSeq
  }
  if (lastSeq === through) return
  throw new SessionError('INVALID_SEQ', `${source.id}: ends at seq ${lastSeq}, before ${through}`, {
    intactThrough: lastSeq,
  })
}

async function* eachOf<T>(items: Iterable<T>): AsyncGenerator<T, void> {
  yield* items
}

function closed(): SessionError {
  return new SessionError('DISPOSED', 'this storage is closed')
}
