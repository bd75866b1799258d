import { encodeEvent, type EncodedEvent } from '../../encoded-event.ts'
import type { Lease } from '../../storage.ts'
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
} from './batches.ts'
import type { Fact, Facts, Scene } from './fact.ts'
import { allRefused, codeOf } from './refusal.ts'

/** On a session that was just created. */
function begun(fact: (scene: Scene & { readonly lease: Lease }) => Promise<void>): Fact {
  return async (scene) =>
    fact({ ...scene, lease: await scene.storage.create(headerOf('a'), { claim: newClaim() }) })
}

/** An event whose line has exactly this many bytes. */
function sized(seq: number, sizeBytes: number): EncodedEvent {
  const { sizeBytes: empty } = encodeEvent(event(seq, ''))
  return encodeEvent(event(seq, 'x'.repeat(sizeBytes - empty)))
}

export const appendFacts: Facts = {
  'what is acknowledged is read back, equal and in order, and the receipt says where the log ends': begun(
    async ({ storage, lease, expect }) => {
      const first = await append(lease, events(0, 2))
      expect(first, 'the first receipt').toEqual({ tail: lease.tail, durable: 2 })
      const second = await append(lease, events(3, 3))
      expect(second.tail, 'the tail of the second receipt: the lease’s').toEqual(lease.tail)
      const found = await readBack(storage, 'a')
      expect(found.events, 'the events that are read').toEqual(upTo(4).map((seq) => event(seq)))
      expect(found.tail, 'the tail that is read').toEqual(second.tail)
      expect(second.tail.digest, 'the digest after other content').not.toBe(first.tail.digest)
    },
  ),

  'K03, G11: an append resolves when it is durable, and says so': begun(
    async ({ storage, lease, expect }) => {
      const { durable, tail } = await append(lease, events(0, 9))
      expect(durable, '`durable` of the receipt').toBe(9)
      expect(tail.seq, 'the tail of the receipt').toBe(9)
      expect(seqsOf((await readBack(storage, 'a')).events)).toEqual(upTo(10))
    },
  ),

  'B05: a batch that does not start right after the tail is refused, and the log is unchanged': begun(
    async ({ storage, lease, expect }) => {
      await append(lease, events(0, 4))
      const before = await readBack(storage, 'a')
      for (const from of [0, 3, 4, 6, 100])
        expect(await codeOf(() => append(lease, events(from, from + 1))), `a batch from seq ${from}`).toBe(
          'TAIL_MOVED',
        )
      expect(await readBack(storage, 'a'), 'the log afterwards').toEqual(before)
      await append(lease, events(5, 5))
    },
  ),

  'a tail that is not the log’s is refused, by seq and by digest': begun(
    async ({ storage, lease, expect }) => {
      const stale = lease.tail
      await append(lease, events(0, 1))
      const terms = { epoch: lease.epoch, batchId: newBatchId() }
      const wrong = [stale, { ...lease.tail, digest: 'f'.repeat(64) }, { ...lease.tail, seq: 2 }]
      for (const expectedTail of wrong) {
        const call = () => lease.append(events(2, 2), { ...terms, expectedTail })
        expect(await codeOf(call), `the tail ${JSON.stringify(expectedTail)}`).toBe('TAIL_MOVED')
      }
      expect((await readBack(storage, 'a')).events).toHaveLength(2)
    },
  ),

  'an epoch that is not the lease’s is refused': begun(async ({ storage, lease, expect }) => {
    const terms = { expectedTail: lease.tail, batchId: newBatchId() }
    for (const epoch of [lease.epoch - 1, lease.epoch + 1]) {
      const call = () => lease.append(events(0, 0), { ...terms, epoch })
      expect(await codeOf(call), `epoch ${epoch} where the lease has ${lease.epoch}`).toBe('FENCED')
    }
    expect((await readBack(storage, 'a')).events).toEqual([])
  }),

  'the same batch again is acknowledged again and stands in the log once': begun(
    async ({ storage, lease, expect }) => {
      const expectedTail = lease.tail
      const terms = { expectedTail, epoch: lease.epoch, batchId: newBatchId() }
      const receipt = await lease.append(events(0, 2), terms)
      const again = await lease.append(events(0, 2), terms)
      expect(again.tail, 'the tail of the second receipt').toEqual(receipt.tail)
      await append(lease, events(3, 3))
      const late = await lease.append(events(0, 2), terms)
      expect(late.tail, 'the tail when it comes again after another batch').toEqual(receipt.tail)
      expect(seqsOf((await readBack(storage, 'a')).events), 'the seqs that are read').toEqual(upTo(4))
    },
  ),

  'a batch that was appended by an earlier lease is recognised, too': begun(
    async ({ storage, lease, expect }) => {
      const batchId = newBatchId()
      await append(lease, events(0, 2), batchId)
      const next = await storage.acquire('a', { claim: newClaim(), force: true })
      const { tail } = await append(next, events(0, 2), batchId)
      expect(tail, 'the tail of the receipt: the next lease’s').toEqual(next.tail)
      expect(seqsOf((await readBack(storage, 'a')).events), 'the seqs that are read').toEqual(upTo(3))
    },
  ),

  'the same batch id with other content is a conflict': begun(async ({ storage, lease, expect }) => {
    const batchId = newBatchId()
    await append(lease, events(0, 2), batchId)
    const others = [events(0, 1), events(3, 5), [...events(0, 1), encodeEvent(event(2, { n: 'other' }))]]
    for (const other of others) {
      const content = `content of seqs ${other.map(({ event: { seq } }) => seq).join()}`
      expect(await codeOf(() => append(lease, other, batchId)), content).toBe('CONFLICT')
    }
    expect(seqsOf((await readBack(storage, 'a')).events), 'the seqs that are read').toEqual(upTo(3))
  }),

  'a batch is not empty, has no gaps, and has an id of 1 to 128 characters': begun(
    async ({ storage, lease, expect }) => {
      await allRefused(expect, 'INVALID_SEQ', {
        'an empty batch': () => append(lease, []),
        'a batch with a gap': () => append(lease, [...events(0, 0), ...events(2, 2)]),
      })
      await allRefused(expect, 'INVALID_ID', {
        'an empty batch id': () => append(lease, events(0, 0), ''),
        'a batch id of 129 characters': () => append(lease, events(0, 0), 'x'.repeat(129)),
      })
      await append(lease, events(0, 0), '\u0001'.repeat(128))
      expect((await readBack(storage, 'a')).events).toHaveLength(1)
    },
  ),

  'an event at the size limit is kept, one byte more is refused': begun(
    async ({ storage, lease, expect }) => {
      const { eventSizeBytesMax } = storage.capabilities
      await allRefused(expect, 'INVALID_PAYLOAD', {
        'an event of `eventSizeBytesMax` + 1': () => append(lease, [sized(0, eventSizeBytesMax + 1)]),
      })
      await append(lease, [sized(0, eventSizeBytesMax)])
      const found = await readBack(storage, 'a')
      expect(found.events, 'the event at the limit').toHaveLength(1)
      expect((found.events[0]?.data as string).length, 'its length').toBeGreaterThan(eventSizeBytesMax - 200)
    },
  ),

  'a batch at the size limit is kept, one byte more is refused': begun(async ({ storage, lease, expect }) => {
    const half = Math.floor(storage.capabilities.batchSizeBytesMax / 2)
    const rest = storage.capabilities.batchSizeBytesMax - half
    await allRefused(expect, 'INVALID_PAYLOAD', {
      'a batch of `batchSizeBytesMax` + 1': () => append(lease, [sized(0, half), sized(1, rest + 1)]),
    })
    await append(lease, [sized(0, half), sized(1, rest)])
    expect((await readBack(storage, 'a')).events).toHaveLength(2)
  }),

  'one batch is in flight: a second call waits for the first': begun(async ({ storage, lease, expect }) => {
    const terms = { expectedTail: lease.tail, epoch: lease.epoch }
    const first = lease.append(events(0, 0), { ...terms, batchId: newBatchId() })
    const second = codeOf(() => lease.append(events(1, 1), { ...terms, batchId: newBatchId() }))
    expect(await second, 'the second call').toBe('TAIL_MOVED')
    expect((await first).tail, 'the tail of the first receipt: the lease’s').toEqual(lease.tail)
    await append(lease, events(1, 1))
    expect((await readBack(storage, 'a')).events).toHaveLength(2)
  }),

  'a released lease appends nothing, and releasing it again is fine': begun(
    async ({ storage, lease, expect }) => {
      await appendNext(lease)
      await lease.release()
      await lease.release()
      await allRefused(expect, 'DISPOSED', { 'append, after the release,': () => appendNext(lease) })
      expect((await readBack(storage, 'a')).events).toHaveLength(1)
    },
  ),
}
