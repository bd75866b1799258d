import { SessionError, isSessionError, type SessionHeader } from '@tidemark/session-core'
import type * as seam from './storage.ts'
import type { SummaryPage } from './summary.ts'

/** A storage that may be a third party's, with whatever it fails with as an error of ours. */
export class TypedStorage implements seam.SessionStorage {
  readonly capabilities: seam.StorageCapabilities

  constructor(private readonly storage: seam.SessionStorage) {
    this.capabilities = storage.capabilities
  }

  create(header: SessionHeader, terms: seam.CreateTerms): Promise<seam.Lease> {
    return typed('create', async () => real(await this.storage.create(header, terms)))
  }

  acquire(id: string, terms: seam.AcquireTerms): Promise<seam.Lease> {
    return typed('acquire', async () => real(await this.storage.acquire(id, terms)))
  }

  read(id: string, terms?: seam.ReadTerms): Promise<seam.StoredLog> {
    return typed('read', async () => {
      const { header, batches } = await this.storage.read(id, terms)
      return { header, batches: typedBatches(batches) }
    })
  }

  fork(source: seam.ForkSource, header: SessionHeader, claim: seam.Claim): Promise<seam.Lease> {
    return typed('fork', async () => real(await this.storage.fork(source, header, claim)))
  }

  list(terms: seam.ListTerms): Promise<SummaryPage> {
    return typed('list', () => this.storage.list(terms))
  }

  remove(id: string): Promise<void> {
    return typed('remove', () => this.storage.remove(id))
  }

  verify(id: string): Promise<seam.Verdict> {
    return typed('verify', () => this.storage.verify(id))
  }

  close(): Promise<void> {
    return typed('close', () => this.storage.close())
  }
}

async function typed<T>(call: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw foreign(call, error)
  }
}

async function* typedBatches(
  batches: AsyncIterable<seam.StoredBatch>,
): AsyncGenerator<seam.StoredBatch, void> {
  try {
    for await (const batch of batches) {
      if (!Array.isArray(batch.events)) throw foreign('read', undefined)
      yield batch
    }
  } catch (error) {
    throw foreign('read', error)
  }
}

/** Its own words may hold anything, so they are the cause and not the message. */
function foreign(call: string, cause: unknown): SessionError {
  if (isSessionError(cause)) return cause
  return new SessionError('STORAGE_FAILED', `the storage failed in ${call}`, { reason: call, cause })
}

function real(lease: seam.Lease): seam.Lease {
  const isReal = Number.isInteger(lease.tail.seq) && Number.isInteger(lease.epoch)
  if (isReal) return lease
  throw new SessionError('STORAGE_FAILED', 'the storage gave a lease without an epoch or a tail')
}
