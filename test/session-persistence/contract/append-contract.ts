import { beforeEach, describe, expect, it } from 'vitest'
import {
  encodeEvent,
  type EncodedEvent,
  type Lease,
  type SessionStorage,
} from '@tidemark/session-persistence'
import {
  append,
  appendNext,
  event,
  events,
  headerOf,
  newBatchId,
  newClaim,
  readBack,
  seqsOf,
  upTo,
} from '../batches.ts'
import { codeOf } from '../refusal.ts'
import type { Place } from './storage-contract.ts'

/** An event whose line has exactly this many bytes. */
function sized(seq: number, sizeBytes: number): EncodedEvent {
  const { sizeBytes: empty } = encodeEvent(event(seq, ''))
  return encodeEvent(event(seq, 'x'.repeat(sizeBytes - empty)))
}

export function appendContract(makePlace: () => Place): void {
  describe('append', () => {
    let storage: SessionStorage
    let lease: Lease
    beforeEach(async () => {
      storage = makePlace().open()
      lease = await storage.create(headerOf('a'), { claim: newClaim() })
    })

    it('what is acknowledged is read back, equal and in order, and the receipt says where the log ends', async () => {
      const first = await append(lease, events(0, 2))
      expect(first).toEqual({ tail: lease.tail, durable: 2 })
      const second = await append(lease, events(3, 3))
      expect(second.tail).toEqual(lease.tail)
      const found = await readBack(storage, 'a')
      expect(found.events).toEqual(upTo(4).map((seq) => event(seq)))
      expect(found.tail).toEqual(second.tail)
      expect(second.tail.digest).not.toBe(first.tail.digest)
    })

    it('K03: an append resolves when it is durable, and says so', async () => {
      const { durable, tail } = await append(lease, events(0, 9))
      expect(durable).toBe(9)
      expect(tail.seq).toBe(9)
      expect(seqsOf((await readBack(storage, 'a')).events)).toEqual(upTo(10))
    })

    it('B05: a batch that does not start right after the tail is refused, and the log is unchanged', async () => {
      await append(lease, events(0, 4))
      const before = await readBack(storage, 'a')
      for (const from of [0, 3, 4, 6, 100])
        expect(await codeOf(() => append(lease, events(from, from + 1)))).toBe('TAIL_MOVED')
      expect(await readBack(storage, 'a')).toEqual(before)
      await append(lease, events(5, 5))
    })

    it('a tail that is not the log’s is refused, by seq and by digest', async () => {
      const stale = lease.tail
      await append(lease, events(0, 1))
      const terms = { epoch: lease.epoch, batchId: newBatchId() }
      const wrong = [stale, { ...lease.tail, digest: 'f'.repeat(64) }, { ...lease.tail, seq: 2 }]
      for (const expectedTail of wrong) {
        expect(await codeOf(() => lease.append(events(2, 2), { ...terms, expectedTail }))).toBe('TAIL_MOVED')
      }
      expect((await readBack(storage, 'a')).events).toHaveLength(2)
    })

    it('an epoch that is not the lease’s is refused', async () => {
      const terms = { expectedTail: lease.tail, batchId: newBatchId() }
      for (const epoch of [lease.epoch - 1, lease.epoch + 1]) {
        expect(await codeOf(() => lease.append(events(0, 0), { ...terms, epoch }))).toBe('FENCED')
      }
      expect((await readBack(storage, 'a')).events).toEqual([])
    })

    it('the same batch again is acknowledged again and stands in the log once', async () => {
      const expectedTail = lease.tail
      const terms = { expectedTail, epoch: lease.epoch, batchId: newBatchId() }
      const receipt = await lease.append(events(0, 2), terms)
      expect((await lease.append(events(0, 2), terms)).tail).toEqual(receipt.tail)
      await append(lease, events(3, 3))
      expect((await lease.append(events(0, 2), terms)).tail).toEqual(receipt.tail)
      expect(seqsOf((await readBack(storage, 'a')).events)).toEqual(upTo(4))
    })

    it('a batch that was appended by an earlier lease is recognised, too', async () => {
      const batchId = newBatchId()
      await append(lease, events(0, 2), batchId)
      const next = await storage.acquire('a', { claim: newClaim() })
      expect((await append(next, events(0, 2), batchId)).tail).toEqual(next.tail)
      expect(seqsOf((await readBack(storage, 'a')).events)).toEqual(upTo(3))
    })

    it('the same batch id with other content is a conflict', async () => {
      const batchId = newBatchId()
      await append(lease, events(0, 2), batchId)
      const others = [events(0, 1), events(3, 5), [...events(0, 1), encodeEvent(event(2, { n: 'other' }))]]
      for (const other of others) expect(await codeOf(() => append(lease, other, batchId))).toBe('CONFLICT')
      expect(seqsOf((await readBack(storage, 'a')).events)).toEqual(upTo(3))
    })

    it('a batch is not empty, has no gaps, and has an id of 1 to 128 characters', async () => {
      expect(await codeOf(() => append(lease, []))).toBe('INVALID_SEQ')
      expect(await codeOf(() => append(lease, [...events(0, 0), ...events(2, 2)]))).toBe('INVALID_SEQ')
      expect(await codeOf(() => append(lease, events(0, 0), ''))).toBe('INVALID_ID')
      expect(await codeOf(() => append(lease, events(0, 0), 'x'.repeat(129)))).toBe('INVALID_ID')
      await append(lease, events(0, 0), '\u0001'.repeat(128))
      expect((await readBack(storage, 'a')).events).toHaveLength(1)
    })

    it('an event at the size limit is kept, one byte more is refused', async () => {
      const { eventSizeBytesMax } = storage.capabilities
      expect(await codeOf(() => append(lease, [sized(0, eventSizeBytesMax + 1)]))).toBe('INVALID_PAYLOAD')
      await append(lease, [sized(0, eventSizeBytesMax)])
      const found = await readBack(storage, 'a')
      expect(found.events).toHaveLength(1)
      expect((found.events[0]?.data as string).length).toBeGreaterThan(eventSizeBytesMax - 200)
    })

    it('a batch at the size limit is kept, one byte more is refused', async () => {
      const half = Math.floor(storage.capabilities.batchSizeBytesMax / 2)
      const rest = storage.capabilities.batchSizeBytesMax - half
      expect(await codeOf(() => append(lease, [sized(0, half), sized(1, rest + 1)]))).toBe('INVALID_PAYLOAD')
      await append(lease, [sized(0, half), sized(1, rest)])
      expect((await readBack(storage, 'a')).events).toHaveLength(2)
    })

    it('one batch is in flight: a second call waits for the first', async () => {
      const terms = { expectedTail: lease.tail, epoch: lease.epoch }
      const first = lease.append(events(0, 0), { ...terms, batchId: newBatchId() })
      const second = codeOf(() => lease.append(events(1, 1), { ...terms, batchId: newBatchId() }))
      expect(await second).toBe('TAIL_MOVED')
      expect((await first).tail).toEqual(lease.tail)
      await append(lease, events(1, 1))
      expect((await readBack(storage, 'a')).events).toHaveLength(2)
    })

    it('a released lease appends nothing, and releasing it again is fine', async () => {
      await appendNext(lease)
      await lease.release()
      await lease.release()
      expect(await codeOf(() => appendNext(lease))).toBe('DISPOSED')
      expect((await readBack(storage, 'a')).events).toHaveLength(1)
    })

    it('a read from the middle gives what is wanted, and the tail in any case', async () => {
      await append(lease, events(0, 3))
      await append(lease, events(4, 6))
      for (const from of [0, 2, 4, 6, 7, 50]) {
        const found = await readBack(storage, 'a', from)
        expect(seqsOf(found.events)).toEqual(upTo(7).filter((seq) => seq >= from))
        expect(found.tail).toEqual(lease.tail)
      }
    })
  })
}
