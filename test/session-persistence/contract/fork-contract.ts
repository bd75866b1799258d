import { beforeEach, describe, expect, it } from 'vitest'
import type { Lease, SessionStorage } from '@tidemark/session-persistence'
import { append, appendNext, events, headerOf, newClaim, readBack, seqsOf, upTo } from '../batches.ts'
import { codeOf } from '../refusal.ts'
import type { Place } from './storage-contract.ts'

export function forkContract(makePlace: () => Place): void {
  describe('fork', () => {
    let storage: SessionStorage
    let parent: Lease
    beforeEach(async () => {
      storage = makePlace().open()
      parent = await storage.create(headerOf('p'), { claim: newClaim() })
      await append(parent, events(0, 3))
      await (await storage.acquire('p', { claim: newClaim() })).release()
      parent = await storage.acquire('p', { claim: newClaim() })
      await append(parent, events(4, 6))
    })

    const childOf = (id: string, seq: number) => headerOf(id, { parent: { id: 'p', seq }, forkedAt: [seq] })
    const fork = (through: number, id = `c${through}`): Promise<Lease> =>
      storage.fork({ id: 'p', through }, childOf(id, through), newClaim())

    it('the child inherits up to the cut, wherever it is, and goes on by itself', async () => {
      const before = await readBack(storage, 'p')
      for (const through of [-1, 0, 2, 3, 4, 6]) {
        const child = await fork(through)
        expect(child.tail.seq).toBe(through)
        await appendNext(child, 2)
        const found = await readBack(storage, `c${through}`)
        expect(found.header).toEqual(childOf(`c${through}`, through))
        expect(seqsOf(found.events)).toEqual(upTo(through + 3))
        expect(found.events.slice(0, through + 1)).toEqual(before.events.slice(0, through + 1))
        expect(found.tail).toEqual(child.tail)
      }
      expect(await readBack(storage, 'p')).toEqual(before)
      await appendNext(parent)
    })

    it('a fork of a fork works, and each outlives the other', async () => {
      await appendNext(await fork(5, 'c'))
      await storage.fork({ id: 'c', through: 6 }, headerOf('d'), newClaim())
      await storage.remove('p')
      await storage.remove('c')
      expect(seqsOf((await readBack(storage, 'd')).events)).toEqual(upTo(7))
    })

    it('removing the child does not touch the parent', async () => {
      await fork(5, 'c')
      const before = await readBack(storage, 'p')
      await storage.remove('c')
      expect(await readBack(storage, 'p')).toEqual(before)
    })

    it.each([7, 100, -2, 1.5, Number.NaN])(
      'a cut at %d is refused, and there is no child',
      async (through) => {
        expect(await codeOf(() => fork(through, 'c'))).toBe('INVALID_SEQ')
        expect(await codeOf(() => storage.read('c'))).toBe('NOT_FOUND')
      },
    )

    it('an id that is taken is refused, also the parent’s own', async () => {
      await fork(3, 'c')
      expect(await codeOf(() => fork(5, 'c'))).toBe('EXISTS')
      expect(await codeOf(() => fork(5, 'p'))).toBe('EXISTS')
      expect(seqsOf((await readBack(storage, 'c')).events)).toEqual(upTo(4))
    })
  })
}
