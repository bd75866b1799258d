import { beforeEach, describe, expect, it } from 'vitest'
import type { SessionStorage } from '@tidemark/session-persistence'
import { appendNext, events, headerOf, newClaim, readBack, seqsOf, upTo } from '../batches.ts'
import { codeOf } from '../refusal.ts'
import type { Place } from './storage-contract.ts'

export function lifeContract(makePlace: () => Place): void {
  describe('the life of a session', () => {
    let storage: SessionStorage
    beforeEach(() => {
      storage = makePlace().open()
    })

    it('a new session is empty, and its header comes back equal', async () => {
      const header = headerOf('a', { meta: { title: 'ü', deep: [{ x: null }] }, forkedAt: [3] })
      const lease = await storage.create(header, { claim: newClaim() })
      expect(lease.header).toEqual(header)
      expect(await readBack(storage, 'a')).toMatchObject({ header, events: [], tail: lease.tail })
      expect(lease.tail.seq).toBe(-1)
    })

    it('an id that is taken is refused, and the session under it does not change', async () => {
      await appendNext(await storage.create(headerOf('a'), { claim: newClaim() }), 3)
      const before = await readBack(storage, 'a')
      expect(await codeOf(() => storage.create(headerOf('a', { createdAt: 2 }), { claim: newClaim() }))).toBe(
        'EXISTS',
      )
      expect(await readBack(storage, 'a')).toEqual(before)
    })

    it('of many who create the same id at once, one succeeds', async () => {
      const outcomes = await Promise.allSettled(
        upTo(8).map(() => storage.create(headerOf('a'), { claim: newClaim() })),
      )
      expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
      for (const outcome of outcomes) {
        if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ code: 'EXISTS' })
      }
    })

    it('a session that does not exist is NOT_FOUND everywhere, and nothing is created by asking', async () => {
      const claim = newClaim()
      const asked = [
        () => storage.acquire('a', { claim }),
        () => storage.read('a'),
        () => storage.fork({ id: 'a', through: -1 }, headerOf('b'), claim),
        () => storage.remove('a'),
        () => storage.verify('a'),
      ]
      for (const ask of asked) expect(await codeOf(ask)).toBe('NOT_FOUND')
      expect(await storage.list({ countMax: 10 })).toEqual({ sessions: [] })
    })

    it.each([[''], ['x'.repeat(201)], ['a\ud800'], [undefined], [7]])(
      'M01: %j is no id, at every entry',
      async (id) => {
        const bad = id as string
        const claim = newClaim()
        await storage.create(headerOf('good'), { claim })
        const asked = [
          () => storage.create(headerOf(bad), { claim }),
          () => storage.acquire(bad, { claim }),
          () => storage.read(bad),
          () => storage.fork({ id: bad, through: -1 }, headerOf('b'), claim),
          () => storage.fork({ id: 'good', through: -1 }, headerOf(bad), claim),
          () => storage.remove(bad),
          () => storage.verify(bad),
        ]
        for (const ask of asked) expect(await codeOf(ask)).toBe('INVALID_ID')
      },
    )

    it('a session begins with its seed, and goes on after it', async () => {
      const lease = await storage.create(headerOf('a'), { claim: newClaim(), seed: events(0, 4) })
      expect(lease.tail.seq).toBe(4)
      await appendNext(lease, 2)
      expect(seqsOf((await readBack(storage, 'a')).events)).toEqual(upTo(7))
    })

    it('a seed with a gap or a late start is refused, and there is no session', async () => {
      for (const seed of [events(1, 2), [...events(0, 1), ...events(3, 3)]]) {
        expect(await codeOf(() => storage.create(headerOf('a'), { claim: newClaim(), seed }))).toBe(
          'INVALID_SEED',
        )
        expect(await codeOf(() => storage.read('a'))).toBe('NOT_FOUND')
      }
    })

    it('a removed session is gone, its lease is fenced, and its id is free', async () => {
      const lease = await storage.create(headerOf('a'), { claim: newClaim() })
      await appendNext(lease)
      await storage.remove('a')
      expect(await codeOf(() => storage.read('a'))).toBe('NOT_FOUND')
      expect(await codeOf(() => appendNext(lease))).toBe('FENCED')
      expect(await storage.list({ countMax: 10 })).toEqual({ sessions: [] })
      await storage.create(headerOf('a'), { claim: newClaim() })
      expect(await codeOf(() => appendNext(lease))).toBe('FENCED')
      expect((await readBack(storage, 'a')).events).toEqual([])
    })

    it('a sound session is verified with its tail', async () => {
      const lease = await storage.create(headerOf('a'), { claim: newClaim() })
      await appendNext(lease, 3)
      expect(await storage.verify('a')).toEqual({ kind: 'intact', tail: lease.tail })
    })

    it('a closed storage does nothing any more, and closing it again is fine', async () => {
      const lease = await storage.create(headerOf('a'), { claim: newClaim() })
      await storage.close()
      await storage.close()
      const asked = [
        () => storage.create(headerOf('b'), { claim: newClaim() }),
        () => storage.acquire('a', { claim: newClaim() }),
        () => storage.read('a'),
        () => storage.list({ countMax: 1 }),
        () => storage.remove('a'),
        () => storage.verify('a'),
        () => appendNext(lease),
      ]
      for (const ask of asked) expect(['DISPOSED', 'FENCED']).toContain(await codeOf(ask))
    })
  })
}
