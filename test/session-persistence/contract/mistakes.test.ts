import type { AcquireTerms, Lease, ReadTerms, Receipted, StoredLog } from '@tidemark/session-persistence'
import { MemoryStorage } from '@tidemark/session-persistence/memory'
import { describe, expect, it } from 'vitest'
import type { Facts } from '../../../packages/session-persistence/src/testkit/contract/fact.ts'
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
