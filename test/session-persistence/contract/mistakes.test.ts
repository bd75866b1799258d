import { SessionError } from '@tidemark/session-core'
import type {
  AcquireTerms,
  Lease,
  ReadTerms,
  Receipted,
  Snapshot,
  SnapshotShelf,
  StoredBatch,
  StoredLog,
  Verdict,
} from '@tidemark/session-persistence'
import { encodeEvent } from '@tidemark/session-persistence'
import { MemoryStorage } from '@tidemark/session-persistence/memory'
import { describe, expect, it } from 'vitest'
import type { Fact, Facts } from '../../../packages/session-persistence/src/testkit/contract/fact.ts'
import { lifeFacts } from '../../../packages/session-persistence/src/testkit/contract/life-facts.ts'
import { readFacts } from '../../../packages/session-persistence/src/testkit/contract/read-facts.ts'
import { snapshotFacts } from '../../../packages/session-persistence/src/testkit/contract/snapshot-facts.ts'
import { writerFacts } from '../../../packages/session-persistence/src/testkit/contract/writer-facts.ts'
import { event } from '../batches.ts'
import { altered } from '../foreign-host.ts'
import { codeOf } from '../refusal.ts'

/** A storage whose acquired leases differ from those that it creates. */
function withLeases(change: (lease: Lease) => Partial<Lease>): MemoryStorage {
  class Mistaken extends MemoryStorage {
    override async acquire(id: string, terms: AcquireTerms): Promise<Lease> {
      const lease = await super.acquire(id, terms)
      return altered(lease, change(lease))
    }
  }
  return new Mistaken()
}

/** A storage that takes any digest for the right one where no batch ends. */
class Lenient extends MemoryStorage {
  override async acquire(id: string, terms: AcquireTerms): Promise<Lease> {
    return super.acquire(id, await this.lenient(id, terms))
  }

  override async read(id: string, terms: ReadTerms = {}): Promise<StoredLog> {
    return super.read(id, await this.lenient(id, terms))
  }

  private async lenient<T extends { receipt?: Receipted }>(id: string, terms: T): Promise<T> {
    const { receipt } = terms
    if (receipt === undefined) return terms
    for await (const { tail } of (await super.read(id)).batches) if (tail.seq === receipt.seq) return terms
    return { ...terms, receipt: { seq: receipt.seq } }
  }
}

/** A storage that gives out other batches than it holds. */
function withBatches(change: (batch: StoredBatch) => readonly StoredBatch[]): MemoryStorage {
  class Mistaken extends MemoryStorage {
    override async read(id: string, terms?: ReadTerms): Promise<StoredLog> {
      const { header, batches } = await super.read(id, terms)
      return { header, batches: changed(batches) }
    }
  }
  async function* changed(batches: AsyncIterable<StoredBatch>): AsyncGenerator<StoredBatch, void> {
    for await (const batch of batches) yield* change(batch)
  }
  return new Mistaken()
}

/** A storage with a shelf for snapshots, which is changed so. */
function withShelf(change: (shelf: MemoryShelf) => Partial<SnapshotShelf> = () => ({})): MemoryStorage {
  const storage = new MemoryStorage()
  const shelf = new MemoryShelf(storage)
  const remove = (id: string): Promise<void> => {
    shelf.saved.delete(id)
    return MemoryStorage.prototype.remove.call(storage, id)
  }
  const own: Partial<SnapshotShelf> = change(shelf)
  const snapshots: SnapshotShelf = {
    save: (lease, snapshot) => shelf.save(lease, snapshot),
    load: (id, through) => shelf.load(id, through),
    ...own,
  }
  const capabilities = { ...storage.capabilities, hasSnapshots: true }
  return Object.assign(storage, { snapshots, capabilities, remove })
}

/** Snapshots in memory, which keep what is promised. */
class MemoryShelf implements SnapshotShelf {
  readonly saved = new Map<string, readonly Snapshot[]>()

  constructor(private readonly storage: MemoryStorage) {}

  async save(lease: Lease, snapshot: Snapshot): Promise<void> {
    const { id } = lease.header
    // Whoever may append nothing saves nothing, either: it is told so by an append that never fits.
    const terms = { epoch: lease.epoch, expectedTail: { seq: -2, digest: '' }, batchId: 'probe' }
    const code = await codeOf(() => lease.append([encodeEvent(event(0))], terms))
    if (code === 'FENCED' || code === 'DISPOSED') throw new SessionError(code, 'over', { sessionId: id })
    const { seq, digest } = snapshot.at
    for await (const { tail } of (await this.storage.read(id)).batches)
      if (tail.seq === seq && tail.digest === digest) return this.keep(id, snapshot)
    throw new SessionError('TAIL_MOVED', 'no batch ends there', { sessionId: id })
  }

  async load(id: string, through = Infinity): Promise<Snapshot | undefined> {
    const { batches } = await this.storage.read(id)
    const tails = new Set<string>()
    for await (const { tail } of batches) tails.add(tail.digest)
    const fitting = (this.saved.get(id) ?? []).filter(({ at }) => at.seq <= through && tails.has(at.digest))
    return fitting.reduce<Snapshot | undefined>(
      (best, each) => (best && best.at.seq > each.at.seq ? best : each),
      undefined,
    )
  }

  keep(id: string, snapshot: Snapshot): void {
    this.saved.set(id, [...(this.saved.get(id) ?? []), snapshot])
  }
}

const withoutEmpty = () => withBatches((batch) => (batch.events.length === 0 ? [] : [batch]))
const provingNothing = () => withBatches((batch) => [{ ...batch, isDurable: false }])

/** A storage that looks at ids everywhere but in one place. */
function lookingAway(verify: () => Promise<Verdict>): MemoryStorage {
  return Object.assign(new MemoryStorage(), { verify })
}

const mistakes: Record<string, [() => MemoryStorage, Facts]> = {
  'does not look at the expected tail': [
    () =>
      withLeases((lease) => ({
        append: (batch, terms) => lease.append(batch, { ...terms, expectedTail: lease.tail }),
      })),
    writerFacts,
  ],
  'calls nothing durable': [
    () =>
      withLeases((lease) => ({
        append: async (batch, terms) => ({ ...(await lease.append(batch, terms)), durable: -1 }),
      })),
    writerFacts,
  ],
  'releases nothing': [() => withLeases(() => ({ release: async () => undefined })), writerFacts],
  'gives a session that was never written to no batch': [withoutEmpty, writerFacts],
  'calls no batch durable': [provingNothing, readFacts],
  'takes a receipt from inside a batch': [() => new Lenient(), readFacts],
  'gives a snapshot of a later seq than is wanted': [
    () => withShelf((shelf) => ({ load: (id) => shelf.load(id) })),
    snapshotFacts,
  ],
  'gives no snapshot': [() => withShelf(() => ({ load: async () => undefined })), snapshotFacts],
  'gives the snapshots of a session that was removed': [
    () => {
      const kept: Snapshot[] = []
      return withShelf((shelf) => ({
        save: async (lease, snapshot) => void (await shelf.save(lease, snapshot), kept.push(snapshot)),
        load: async (id, through) => (await shelf.load(id, through)) ?? kept.at(-1),
      }))
    },
    snapshotFacts,
  ],
  'lets a writer save that was taken over from': [
    () => withShelf((shelf) => ({ save: async ({ header }, snapshot) => shelf.keep(header.id, snapshot) })),
    snapshotFacts,
  ],
}

it('the contract passes a shelf of snapshots that keeps it', async () => {
  for (const [title, fact] of Object.entries(snapshotFacts)) {
    const storage = withShelf()
    const failure = await fact({ place: { open: () => storage }, storage, expect }).catch(
      (error: unknown) => error,
    )
    expect(failure, title).toBeUndefined()
  }
})

describe('the contract refuses a storage that', () => {
  it.each(Object.entries(mistakes))('%s', async (_, [open, facts]) => {
    const failed: string[] = []
    for (const [title, fact] of Object.entries(facts)) {
      const storage = open()
      await fact({ place: { open: () => storage }, storage, expect }).catch(() => failed.push(title))
    }
    expect(failed).not.toEqual([])
  })
})

/** What a fact says of a storage that does not keep it. */
async function failureOf(storage: MemoryStorage, fact: Fact | undefined): Promise<unknown> {
  return fact?.({ place: { open: () => storage }, storage, expect }).then(
    () => undefined,
    (error: unknown) => error,
  )
}

describe('what the contract says of a mistake', () => {
  it('of a read without a batch: that it is no log, and of which session', async () => {
    const fact = lifeFacts['a new session is empty, and its header comes back equal']
    const failure = await failureOf(withoutEmpty(), fact)
    expect(failure).toMatchObject({ code: 'CORRUPT', details: { sessionId: 'a' } })
  })

  const idFact = lifeFacts['M01: a number is no id, at every entry']
  const nothing: Verdict = { kind: 'intact', tail: { seq: -1, digest: '' }, durable: -1 }

  it('of an id that is let through: at which entry', async () => {
    const failure = await failureOf(
      lookingAway(async () => nothing),
      idFact,
    )
    expect(String(failure)).toMatch(/verify.*'no refusal'.*'INVALID_ID'/)
  })

  it('of an error without a code: at which entry, and the error itself', async () => {
    const cause = new TypeError('id.length')
    const failure = await failureOf(
      lookingAway(() => Promise.reject(cause)),
      idFact,
    )
    expect(failure).toMatchObject({ code: 'STORAGE_FAILED', details: { call: 'verify' }, cause })
  })

  it('of a receipt that proves nothing: that the batch was to be durable', async () => {
    const failure = await failureOf(
      provingNothing(),
      readFacts['a receipt of any batch is honoured by reads and by claims'],
    )
    expect(String(failure)).toMatch(/isDurable.*expected false to be true/)
  })
})
