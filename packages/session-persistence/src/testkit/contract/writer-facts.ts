import { isSessionError } from '@tidemark/session-core'
import { encodeEvent } from '../../encoded-event.ts'
import type { Lease, SessionStorage } from '../../storage.ts'
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
import { codeOf } from './refusal.ts'

/** On a session of three events that has a writer. */
function held(fact: (scene: Scene & { readonly first: Lease }) => Promise<void>): Fact {
  return async (scene) => {
    const first = await scene.storage.create(headerOf('a'), { claim: newClaim() })
    await append(first, events(0, 2))
    await fact({ ...scene, first })
  }
}

function takeOver(from: SessionStorage): Promise<Lease> {
  return from.acquire('a', { claim: newClaim(), force: true })
}

/** Takes over and appends, time and again, as far as others let it. */
async function contend(
  { from, who, expect }: { from: SessionStorage; who: string; expect: Scene['expect'] },
  acknowledged: Map<number, string>,
): Promise<void> {
  for (let round = 0; round < 12; round++) {
    try {
      const lease = await takeOver(from)
      for (let count = 0; count < 3; count++) {
        const seq = lease.tail.seq + 1
        await append(lease, [encodeEvent(event(seq, { who, round }))])
        acknowledged.set(seq, who)
      }
      await lease.release()
    } catch (error) {
      expect(isSessionError(error) ? error.code : error).toMatch(/^(FENCED|LOCKED)$/)
    }
  }
}

export const writerFacts: Facts = {
  'each lease has a higher epoch, and starts at the end of the log': held(
    async ({ place, storage, first, expect }) => {
      const second = await takeOver(storage)
      const third = await takeOver(place.open())
      expect(second.epoch).toBeGreaterThan(first.epoch)
      expect(third.epoch).toBeGreaterThan(second.epoch)
      expect(third.tail).toEqual(first.tail)
      expect(third.header).toEqual(first.header)
    },
  ),

  'a claim adds nothing to the log': held(async ({ storage, expect }) => {
    const before = await readBack(storage, 'a')
    await (await takeOver(storage)).release()
    const { header, events: found, tail } = await readBack(storage, 'a')
    expect({ header, events: found, tail }).toEqual({
      header: before.header,
      events: before.events,
      tail: before.tail,
    })
  }),

  'a lease that was acquired keeps what one that was created does: the tail, the epoch, and what is durable':
    held(async ({ storage, first, expect }) => {
      const stale = first.tail
      const lease = await takeOver(storage)
      const receipt = await append(lease, events(3, 4))
      expect(receipt).toEqual({ tail: lease.tail, durable: 4 })
      const { epoch } = lease
      const wrong = [stale, { ...lease.tail, digest: 'f'.repeat(64) }, { ...lease.tail, seq: 5 }]
      for (const expectedTail of wrong) {
        const terms = { expectedTail, epoch, batchId: newBatchId() }
        expect(await codeOf(() => lease.append(events(5, 5), terms))).toBe('TAIL_MOVED')
      }
      const terms = { expectedTail: lease.tail, epoch: epoch - 1, batchId: newBatchId() }
      expect(await codeOf(() => lease.append(events(5, 5), terms))).toBe('FENCED')
      expect(await codeOf(() => append(lease, events(6, 6)))).toBe('TAIL_MOVED')
      expect(seqsOf((await readBack(storage, 'a')).events)).toEqual(upTo(5))
    }),

  'a lease that was acquired and is released appends nothing, and the next claim needs no force': held(
    async ({ place, storage, first, expect }) => {
      const lease = await takeOver(storage)
      await append(lease, events(3, 3))
      await first.release()
      await lease.release()
      await lease.release()
      expect(await codeOf(() => append(lease, events(4, 4)))).toBe('DISPOSED')
      const next = await place.open().acquire('a', { claim: newClaim() })
      await append(next, events(4, 4))
      expect(seqsOf((await readBack(storage, 'a')).events)).toEqual(upTo(5))
    },
  ),

  'B01, G14: a writer that was taken over from appends nothing, before and after the next one wrote': held(
    async ({ place, storage, first, expect }) => {
      const second = await takeOver(place.open())
      expect(await codeOf(() => append(first, events(3, 3)))).toBe('FENCED')
      await append(second, events(3, 4))
      expect(await codeOf(() => append(first, events(3, 3)))).toBe('FENCED')
      expect(await codeOf(() => append(first, events(5, 5)))).toBe('FENCED')
      expect(seqsOf((await readBack(storage, 'a')).events)).toEqual(upTo(5))
    },
  ),

  'B12: every batch says which lifecycle wrote it': held(async ({ storage, first, expect }) => {
    const second = await takeOver(storage)
    await append(second, events(3, 4))
    const third = await takeOver(storage)
    await append(third, events(5, 5))
    const { epochs } = await readBack(storage, 'a')
    expect(epochs.map(({ epoch, seqs }) => [epoch, seqs])).toEqual([
      [first.epoch, [0, 1, 2]],
      [second.epoch, [3, 4]],
      [third.epoch, [5]],
    ])
    expect(new Set(epochs.map(({ incarnation }) => incarnation)).size).toBe(3)
  }),

  'a writer names its process and what switched it on': async ({ storage, expect }) => {
    const claim = { incarnation: 'life', enabledBy: 'env' as const, carry: ['x/y'] }
    await storage.create(headerOf('b'), { claim })
    const { batches } = await storage.read('b')
    for await (const { writer } of batches) {
      expect(writer).toMatchObject({ ...claim, pid: process.pid })
      expect(writer.host).not.toBe('')
      expect(writer.startedAt).toBeLessThanOrEqual(Date.now())
    }
  },

  'of many who claim at once at most one goes on, and a later claim always can': held(
    async ({ place, storage, expect }) => {
      const claims = await Promise.allSettled(
        upTo(6).map((index) => takeOver(index % 2 ? place.open() : storage)),
      )
      const leases = claims.filter((claim) => claim.status === 'fulfilled').map(({ value }) => value)
      const appended = await Promise.allSettled(leases.map((lease) => appendNext(lease)))
      expect(appended.filter(({ status }) => status === 'fulfilled').length).toBeLessThanOrEqual(1)
      await appendNext(await takeOver(storage))
    },
  ),

  'racing writers: what is acknowledged is in the log once, in order, under its writer': held(
    async ({ place, storage, expect }) => {
      const acknowledged = new Map<number, string>()
      await Promise.all([
        contend({ from: storage, who: 'x', expect }, acknowledged),
        contend({ from: place.open(), who: 'y', expect }, acknowledged),
        contend({ from: place.open(), who: 'z', expect }, acknowledged),
      ])
      const { events: found } = await readBack(storage, 'a')
      expect(seqsOf(found)).toEqual(upTo(found.length))
      for (const [seq, who] of acknowledged) expect(found[seq]?.data).toMatchObject({ who })
    },
  ),
}
