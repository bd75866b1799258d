import type { Receipted, SessionStorage } from '@tidemark/session-persistence'
import { MemoryStorage } from '@tidemark/session-persistence/memory'
import { beforeEach, describe, expect, it } from 'vitest'
import { append, appendNext, events, headerOf, newClaim, seqsOf, upTo } from './batches.ts'
import { codeOf, refusalOf } from './refusal.ts'

let storage: SessionStorage
beforeEach(async () => {
  storage = new MemoryStorage()
  const lease = await storage.create(headerOf('a'), { claim: newClaim() })
  await append(lease, events(0, 3))
  await append(lease, events(4, 6))
})

const tails = async (): Promise<Receipted[]> => {
  const found: Receipted[] = []
  for await (const { tail } of (await storage.read('a')).batches) found.push(tail)
  return found
}

describe('the memory storage', () => {
  it('gives nothing after `through`, and says that what it holds is durable', async () => {
    for (const through of [-1, 0, 2, 3, 4, 6, 7, 100]) {
      const { batches } = await storage.read('a', { through, from: 1 })
      const given: number[] = []
      let count = 0
      for await (const { events: some, isDurable } of batches) {
        expect(isDurable).toBe(true)
        given.push(...seqsOf(some))
        count += 1
      }
      expect(given).toEqual(upTo(7).filter((seq) => seq >= 1 && seq <= through))
      expect(count).toBeGreaterThan(0)
    }
  })

  it('is verified with its tail, all of which is durable', async () => {
    const lease = await storage.acquire('a', { claim: newClaim() })
    expect(await storage.verify('a')).toEqual({ kind: 'intact', tail: lease.tail, durable: 6 })
  })

  it('holds what each receipt of it says', async () => {
    for (const receipt of [...(await tails()), { seq: 5 }, { seq: -1 }]) {
      await storage.read('a', { receipt })
      await (await storage.acquire('a', { claim: newClaim(), receipt })).release()
    }
  })

  it.each([
    ['of a longer log', { seq: 7 }],
    ['of other content', { seq: 6, digest: 'f'.repeat(64) }],
    ['of a place where no batch ended', { seq: 5, digest: 'f'.repeat(64) }],
  ])('a receipt %s is CORRUPT, and nobody is fenced by asking', async (_, receipt) => {
    const lease = await storage.acquire('a', { claim: newClaim() })
    expect(await codeOf(() => storage.read('a', { receipt }))).toBe('CORRUPT')
    const refusal = await refusalOf(() => storage.acquire('a', { claim: newClaim(), receipt }))
    expect(refusal).toMatchObject({ code: 'CORRUPT', details: { sessionId: 'a', seq: receipt.seq } })
    expect((await appendNext(lease)).durable).toBe(7)
  })

  it('a receipt beyond what is asked for is not judged', async () => {
    await storage.read('a', { through: 3, receipt: { seq: 99 } })
  })

  it('has nothing to repair and nothing to salvage', () => {
    expect([storage.repair, storage.salvage]).toEqual([undefined, undefined])
  })
})
