import { isSessionError } from '@tidemark/session-core'
import { encodeEvent } from '../../encoded-event.ts'
import type { Lease, SessionStorage } from '../../storage.ts'
import {
  append,
  appendNext,
  batchesOf,
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
      expect(isSessionError(error) ? error.code : error, 'what a writer that lost is told').toMatch(
        /^(FENCED|LOCKED)$/,
      )
    }
  }
}

export const writerFacts: Facts = {
  'each lease has a higher epoch, and starts at the end of the log': held(
    async ({ place, storage, first, expect }) => {
      const second = await takeOver(storage)
      const third = await takeOver(place.open())
      expect(second.epoch, 'the second epoch').toBeGreaterThan(first.epoch)
      expect(third.epoch, 'the third epoch').toBeGreaterThan(second.epoch)
      expect(third.tail, 'the tail of the third lease').toEqual(first.tail)
      expect(third.header, 'the header of the third lease').toEqual(first.header)
    },
  ),

  'a claim adds nothing to the log': held(async ({ storage, expect }) => {
    const before = await readBack(storage, 'a')
    await (await takeOver(storage)).release()
    const { header, events: found, tail } = await readBack(storage, 'a')
    expect({ header, events: found, tail }, 'the log after the claim').toEqual({
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
      expect(receipt, 'the receipt').toEqual({ tail: lease.tail, durable: 4 })
      const { epoch } = lease
      const wrong = [stale, { ...lease.tail, digest: 'f'.repeat(64) }, { ...lease.tail, seq: 5 }]
      for (const expectedTail of wrong) {
        const terms = { expectedTail, epoch, batchId: newBatchId() }
        const call = () => lease.append(events(5, 5), terms)
        expect(await codeOf(call), `the tail ${JSON.stringify(expectedTail)}`).toBe('TAIL_MOVED')
      }
      const terms = { expectedTail: lease.tail, epoch: epoch - 1, batchId: newBatchId() }
      await allRefused(expect, 'FENCED', { 'an earlier epoch': () => lease.append(events(5, 5), terms) })
      await allRefused(expect, 'TAIL_MOVED', { 'a batch after a gap': () => append(lease, events(6, 6)) })
      expect(seqsOf((await readBack(storage, 'a')).events), 'the seqs that are read').toEqual(upTo(5))
    }),

  'a lease that was acquired and is released appends nothing, and the next claim needs no force': held(
    async ({ place, storage, first, expect }) => {
      const lease = await takeOver(storage)
      await append(lease, events(3, 3))
      await first.release()
      await lease.release()
      await lease.release()
      await allRefused(expect, 'DISPOSED', {
        'append, after the release,': () => append(lease, events(4, 4)),
      })
      const next = await place.open().acquire('a', { claim: newClaim() })
      await append(next, events(4, 4))
      expect(seqsOf((await readBack(storage, 'a')).events)).toEqual(upTo(5))
    },
  ),

  'B01, G14: a writer that was taken over from appends nothing, before and after the next one wrote': held(
    async ({ place, storage, first, expect }) => {
      const second = await takeOver(place.open())
      await allRefused(expect, 'FENCED', {
        'append, before the next writes,': () => append(first, events(3, 3)),
      })
      await append(second, events(3, 4))
      await allRefused(expect, 'FENCED', {
        'append, where it believes the end,': () => append(first, events(3, 3)),
        'append, at the end of the other,': () => append(first, events(5, 5)),
      })
      expect(seqsOf((await readBack(storage, 'a')).events)).toEqual(upTo(5))
    },
  ),

  'B12: every batch says which lifecycle wrote it': held(async ({ storage, first, expect }) => {
    const second = await takeOver(storage)
    await append(second, events(3, 4))
    const third = await takeOver(storage)
    await append(third, events(5, 5))
    const { epochs } = await readBack(storage, 'a')
    expect(
      epochs.map(({ epoch, seqs }) => [epoch, seqs]),
      'the seqs of each epoch',
    ).toEqual([
      [first.epoch, [0, 1, 2]],
      [second.epoch, [3, 4]],
      [third.epoch, [5]],
    ])
    expect(new Set(epochs.map(({ incarnation }) => incarnation)).size, 'the lifecycles').toBe(3)
  }),

  'a writer names its process and what switched it on': async ({ storage, expect }) => {
    const claim = { incarnation: 'life', enabledBy: 'env' as const, carry: ['x/y'] }
    await storage.create(headerOf('b'), { claim })
    for (const { writer } of await batchesOf(storage, 'b')) {
      expect(writer, 'the writer').toMatchObject({ ...claim, pid: process.pid })
      expect(writer.host, 'its machine').not.toBe('')
      expect(writer.startedAt, 'when its process started').toBeLessThanOrEqual(Date.now())
    }
  },

  'of many who claim at once at most one goes on, and a later claim always can': held(
    async ({ place, storage, expect }) => {
      const claims = await Promise.allSettled(
        upTo(6).map((index) => takeOver(index % 2 ? place.open() : storage)),
      )
      const leases = claims.filter((claim) => claim.status === 'fulfilled').map(({ value }) => value)
      const appended = await Promise.allSettled(leases.map((lease) => appendNext(lease)))
      const went = appended.filter(({ status }) => status === 'fulfilled')
      expect(went.length, 'those that append').toBeLessThanOrEqual(1)
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
      expect(seqsOf(found), 'the seqs that are read').toEqual(upTo(found.length))
      for (const [seq, who] of acknowledged)
        expect(found[seq]?.data, `what ${who} was acknowledged at seq ${seq}`).toMatchObject({ who })
    },
  ),
}
