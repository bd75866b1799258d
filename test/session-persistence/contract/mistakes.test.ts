import type {
  AcquireTerms,
  Lease,
  ReadTerms,
  Receipted,
  StoredBatch,
  StoredLog,
  Verdict,
} from '@tidemark/session-persistence'
import { MemoryStorage } from '@tidemark/session-persistence/memory'
import { describe, expect, it } from 'vitest'
import type { Fact, Facts } from '../../../packages/session-persistence/src/testkit/contract/fact.ts'
import { lifeFacts } from '../../../packages/session-persistence/src/testkit/contract/life-facts.ts'
import { readFacts } from '../../../packages/session-persistence/src/testkit/contract/read-facts.ts'
import { writerFacts } from '../../../packages/session-persistence/src/testkit/contract/writer-facts.ts'
import { altered } from '../foreign-host.ts'

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
}

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
