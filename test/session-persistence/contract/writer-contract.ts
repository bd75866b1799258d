import { beforeEach, describe, expect, it } from 'vitest'
import { encodeEvent, type Lease, type SessionStorage } from '@tidemark/session-persistence'
import { append, appendNext, event, events, headerOf, newClaim, readBack, seqsOf, upTo } from '../batches.ts'
import { codeOf } from '../refusal.ts'
import type { Place } from './storage-contract.ts'

export function writerContract(makePlace: () => Place): void {
  describe('one writer', () => {
    let place: Place
    let storage: SessionStorage
    let first: Lease
    beforeEach(async () => {
      place = makePlace()
      storage = place.open()
      first = await storage.create(headerOf('a'), { claim: newClaim() })
      await append(first, events(0, 2))
    })

    const takeOver = (from = storage): Promise<Lease> => from.acquire('a', { claim: newClaim(), force: true })

    it('each lease has a higher epoch, and starts at the end of the log', async () => {
      const second = await takeOver()
      const third = await takeOver(place.open())
      expect(second.epoch).toBeGreaterThan(first.epoch)
      expect(third.epoch).toBeGreaterThan(second.epoch)
      expect(third.tail).toEqual(first.tail)
      expect(third.header).toEqual(first.header)
    })

    it('a claim adds nothing to the log', async () => {
      const before = await readBack(storage, 'a')
      await (await takeOver()).release()
      const { header, events: found, tail } = await readBack(storage, 'a')
      expect({ header, events: found, tail }).toEqual({
        header: before.header,
        events: before.events,
        tail: before.tail,
      })
    })

    it('B01: a writer that was taken over from appends nothing, before and after the next one wrote', async () => {
      const second = await takeOver(place.open())
      expect(await codeOf(() => append(first, events(3, 3)))).toBe('FENCED')
      await append(second, events(3, 4))
      expect(await codeOf(() => append(first, events(3, 3)))).toBe('FENCED')
      expect(await codeOf(() => append(first, events(5, 5)))).toBe('FENCED')
      expect(seqsOf((await readBack(storage, 'a')).events)).toEqual(upTo(5))
    })

    it('B12: every batch says which lifecycle wrote it', async () => {
      const second = await takeOver()
      await append(second, events(3, 4))
      const third = await takeOver()
      await append(third, events(5, 5))
      const { epochs } = await readBack(storage, 'a')
      expect(epochs.map(({ epoch, seqs }) => [epoch, seqs])).toEqual([
        [first.epoch, [0, 1, 2]],
        [second.epoch, [3, 4]],
        [third.epoch, [5]],
      ])
      expect(new Set(epochs.map(({ incarnation }) => incarnation)).size).toBe(3)
    })

    it('a writer names its process and what switched it on', async () => {
      const claim = { incarnation: 'life', enabledBy: 'env' as const, carry: ['x/y'] }
      await storage.create(headerOf('b'), { claim })
      const { batches } = await storage.read('b')
      for await (const { writer } of batches) {
        expect(writer).toMatchObject({ ...claim, pid: process.pid })
        expect(writer.host).not.toBe('')
        expect(writer.startedAt).toBeLessThanOrEqual(Date.now())
      }
    })

    it('of many who claim at once at most one goes on, and a later claim always can', async () => {
      const claims = await Promise.allSettled(
        upTo(6).map((index) => takeOver(index % 2 ? place.open() : storage)),
      )
      const leases = claims.filter((claim) => claim.status === 'fulfilled').map(({ value }) => value)
      const appended = await Promise.allSettled(leases.map((lease) => appendNext(lease)))
      expect(appended.filter(({ status }) => status === 'fulfilled').length).toBeLessThanOrEqual(1)
      await appendNext(await takeOver())
    })

    it('racing writers: what is acknowledged is in the log once, in order, under its writer', async () => {
      const acknowledged = new Map<number, string>()
      const write = async (who: string, from: SessionStorage): Promise<void> => {
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
            expect(['FENCED', 'LOCKED']).toContain((error as { code: string }).code)
          }
        }
      }
      await Promise.all([write('x', storage), write('y', place.open()), write('z', place.open())])
      const { events: found } = await readBack(storage, 'a')
      expect(seqsOf(found)).toEqual(upTo(found.length))
      for (const [seq, who] of acknowledged) expect(found[seq]?.data).toMatchObject({ who })
    })
  })
}
