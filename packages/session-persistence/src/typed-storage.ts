import { SessionError, coreSchemas, isSessionError } from '@tidemark/session-core'
import type { SessionHeader, SessionRecovered } from '@tidemark/session-core'
import type * as seam from './storage.ts'
import type { SummaryPage } from './summary.ts'

/** A storage that may be a third party's, with whatever it fails with as an error of ours. */
export class TypedStorage implements seam.SessionStorage {
  readonly capabilities: seam.StorageCapabilities
  /** Present when the storage has it, as is `salvage`. */
  readonly repair?: (id: string, terms: seam.RepairTerms) => Promise<SessionRecovered>
  readonly salvage?: (id: string) => Promise<seam.SalvagedLog>
  readonly snapshots?: seam.SnapshotShelf
  readonly follow?: (id: string, terms: seam.FollowTerms) => AsyncIterable<seam.StoredBatch>

  constructor(private readonly storage: seam.SessionStorage) {
    this.capabilities = storage.capabilities
    if (storage.repair) this.repair = (id, terms) => typed('repair', () => this.repairOnce(id, terms))
    if (storage.follow)
      this.follow = (id, terms) => typedBatches(storage.follow?.(id, terms) ?? nothingFollows())
    if (storage.snapshots) this.snapshots = new TypedShelf(storage.snapshots)
    if (storage.salvage) this.salvage = (id) => typed('salvage', () => this.salvageOnce(id))
  }

  create(header: SessionHeader, terms: seam.CreateTerms): Promise<seam.Lease> {
    return typed('create', async () => real(await this.storage.create(header, terms)))
  }

  acquire(id: string, terms: seam.AcquireTerms): Promise<seam.Lease> {
    return typed('acquire', async () => real(await this.storage.acquire(id, terms)))
  }

  read(id: string, terms?: seam.ReadTerms): Promise<seam.StoredLog> {
    return typed('read', async () => {
      const log = await this.storage.read(id, terms)
      return { header: log.header, batches: typedBatches(log.batches), rest: () => restOf(log) }
    })
  }

  fork(source: seam.ForkSource, header: SessionHeader, claim: seam.Claim): Promise<seam.Lease> {
    return typed('fork', async () => real(await this.storage.fork(source, header, claim)))
  }

  list(terms: seam.ListTerms): Promise<SummaryPage> {
    return typed('list', () => this.storage.list(terms))
  }

  remove(id: string, terms?: seam.RemoveTerms): Promise<void> {
    return typed('remove', () => this.storage.remove(id, terms))
  }

  verify(id: string): Promise<seam.Verdict> {
    return typed('verify', async () => {
      const verdict = await this.storage.verify(id)
      if (!isVerdict(verdict)) throw foreign('verify', undefined)
      return verdict
    })
  }

  close(): Promise<void> {
    return typed('close', () => this.storage.close())
  }

  private async repairOnce(id: string, terms: seam.RepairTerms): Promise<SessionRecovered> {
    const record = await this.storage.repair?.(id, terms)
    if (isRecord(record)) return record
    throw foreign('repair', undefined)
  }

  private async salvageOnce(id: string): Promise<seam.SalvagedLog> {
    const log = await this.storage.salvage?.(id)
    if (log === undefined) throw foreign('salvage', undefined)
    const { header, records } = log
    return { records: typedItems('salvage', records, isSalvaged), ...(header && { header }) }
  }
}

/** A shortcut that somebody else's storage gives: nothing but what can be one is passed on. */
class TypedShelf implements seam.SnapshotShelf {
  constructor(private readonly shelf: seam.SnapshotShelf) {}

  save(lease: seam.Lease, snapshot: seam.Snapshot, onPassedOver?: seam.OnPassedOver): Promise<void> {
    return typed('snapshots.save', () => this.shelf.save(lease, snapshot, onPassedOver))
  }

  load(id: string, through?: number, onPassedOver?: seam.OnPassedOver): Promise<seam.Snapshot | undefined> {
    return typed('snapshots.load', async () => {
      const snapshot = await this.shelf.load(id, through, onPassedOver)
      if (snapshot === undefined || (isTail(snapshot.at) && ArrayBuffer.isView(snapshot.content)))
        return snapshot
      throw foreign('snapshots.load', undefined)
    })
  }
}

async function typed<T>(call: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw foreign(call, error)
  }
}

async function* typedItems<T>(
  call: string,
  items: AsyncIterable<T>,
  isOne: (item: T) => boolean,
): AsyncGenerator<T, void> {
  try {
    for await (const item of items) {
      if (!isOne(item)) throw foreign(call, undefined)
      yield item
    }
  } catch (error) {
    throw foreign(call, error)
  }
}

/** What a storage does not say to be durable is not. */
async function* typedBatches(
  batches: AsyncIterable<seam.StoredBatch>,
): AsyncGenerator<seam.StoredBatch, void> {
  for await (const batch of typedItems('read', batches, isBatch)) {
    const { sizeBytes, isDurable } = batch as Partial<seam.StoredBatch>
    const isSize = typeof sizeBytes === 'number' && sizeBytes >= 0
    yield { ...pick(batch), isDurable: isDurable === true, ...(isSize && { sizeBytes }) }
  }
}

/** Of a class of theirs only what has a name here. */
function pick({ epoch, writer, events, tail }: seam.StoredBatch) {
  return { epoch, writer, events, tail }
}

async function* nothingFollows(): AsyncGenerator<seam.StoredBatch, void> {
  throw foreign('follow', undefined)
}

function restOf(log: seam.StoredLog): seam.Rest | undefined {
  try {
    const rest = log.rest?.()
    if (rest === undefined || isRest(rest)) return rest
  } catch (error) {
    throw foreign('read', error)
  }
  throw foreign('read', undefined)
}

/** Its own words may hold anything, so they are the cause and not the message. */
function foreign(call: string, cause: unknown): SessionError {
  if (isSessionError(cause)) return cause
  return new SessionError('STORAGE_FAILED', `the storage failed in ${call}`, { reason: call, cause })
}

async function real(lease: seam.Lease): Promise<seam.Lease> {
  const { recovered = [] } = lease
  const isPlaced = isTail(lease.tail) && Number.isInteger(lease.epoch)
  const isTold = Array.isArray(recovered) && recovered.every(isRecord)
  if (isPlaced && isTold) return lease
  await lease.release()
  const fault = isPlaced ? 'with records of no recovery' : 'without an epoch or a tail'
  throw new SessionError('STORAGE_FAILED', `the storage gave a lease ${fault}`)
}

function isTail(tail: Partial<seam.Tail> | undefined): boolean {
  return Number.isInteger(tail?.seq)
}

function isRecord(record: unknown): record is SessionRecovered {
  return coreSchemas['session/recovered'].safeParse(record).success
}

function isBatch(batch: seam.StoredBatch): boolean {
  return Array.isArray(batch.events) && isTail(batch.tail)
}

function isSalvaged({ event }: seam.SalvagedRecord): boolean {
  return typeof event === 'object' && (event as unknown) !== null
}

function isRest({ kind, sizeBytes }: seam.Rest): boolean {
  return (kind === 'pending' || kind === 'torn') && Number.isInteger(sizeBytes)
}

function isVerdict(verdict: seam.Verdict): boolean {
  switch (verdict.kind) {
    case 'intact':
      return isTail(verdict.tail)
    case 'unfinished':
      return isTail(verdict.tail) && isRest(verdict.rest)
    case 'damaged':
      return typeof verdict.code === 'string'
    default:
      return false
  }
}
