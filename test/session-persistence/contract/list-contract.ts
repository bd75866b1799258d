import { beforeEach, describe, expect, it } from 'vitest'
import { encodeEvent, type SessionStorage } from '@tidemark/session-persistence'
import { append, event, headerOf, newClaim, upTo } from '../batches.ts'
import { codeOf } from '../refusal.ts'
import type { Place } from './storage-contract.ts'

export function listContract(makePlace: () => Place): void {
  describe('list', () => {
    let storage: SessionStorage
    beforeEach(() => {
      storage = makePlace().open()
    })

    const message = (seq: number, author: string, time: number) =>
      encodeEvent(
        event(seq, { parts: [{ type: 'text', text: 'x', author }] }, { type: 'user/message', time }),
      )

    async function spoken(id: string, ...messages: readonly [author: string, time: number][]): Promise<void> {
      const lease = await storage.create(headerOf(id), { claim: newClaim() })
      if (messages.length === 0) return
      await append(
        lease,
        messages.map(([author, time], seq) => message(seq, author, time)),
      )
    }

    async function allPages(countMax: number): Promise<string[][]> {
      const pages: string[][] = []
      let after: string | undefined
      do {
        const page = await storage.list({ countMax, ...(after !== undefined && { after }) })
        pages.push(page.sessions.map(({ id }) => id))
        after = page.next
      } while (after !== undefined)
      return pages
    }

    it('an empty storage lists nothing', async () => {
      expect(await storage.list({ countMax: 10 })).toEqual({ sessions: [] })
    })

    it('a line says what the header and the events say', async () => {
      await spoken('a', ['human', 5_000], ['agent', 7_000])
      const header = headerOf('a')
      expect(await storage.list({ countMax: 10 })).toEqual({
        sessions: [
          {
            id: 'a',
            status: 'ok',
            header,
            createdAt: 1_000,
            lastSeq: 1,
            lastTime: 7_000,
            lastHumanTime: 5_000,
          },
        ],
      })
    })

    it('an empty session was last active when it was created', async () => {
      await spoken('a')
      const { sessions } = await storage.list({ countMax: 10 })
      expect(sessions).toEqual([
        { id: 'a', status: 'ok', header: headerOf('a'), createdAt: 1_000, lastSeq: -1, lastTime: 1_000 },
      ])
    })

    it('O01: newest human activity comes first; what agents write and who merely opens does not count', async () => {
      await spoken('old', ['human', 2_000], ['agent', 99_000])
      await spoken('new', ['human', 3_000])
      await spoken('none', ['agent', 98_000])
      await (await storage.acquire('old', { claim: newClaim() })).release()
      expect((await allPages(10)).flat()).toEqual(['new', 'old', 'none'])
    })

    it('pages hold each session once, in one order, ties by id', async () => {
      const ids = upTo(7).map((index) => `s${index}`)
      for (const id of [...ids].reverse()) await spoken(id, ['human', 4_000])
      await spoken('first', ['human', 9_000])
      await spoken('last')
      const order = ['first', ...ids, 'last']
      expect(await allPages(4)).toEqual([order.slice(0, 4), order.slice(4, 8), order.slice(8)])
      for (const countMax of [1, 3, 9, 10, 5_000]) expect((await allPages(countMax)).flat()).toEqual(order)
    })

    it('a cursor that is none is refused', async () => {
      await spoken('a')
      for (const after of ['', 'x', 'eyJhIjoxfQ', 'W10']) {
        expect(await codeOf(() => storage.list({ after, countMax: 1 }))).toBe('INVALID_SEQ')
      }
    })

    it('L06: ids that are names of every object are ids like others', async () => {
      const ids = ['__proto__', 'constructor', 'hasOwnProperty', 'prototype', 'toString']
      for (const id of ids) await spoken(id, ['human', 4_000])
      expect((await allPages(10)).flat()).toEqual(ids)
      expect(({} as { x?: unknown }).x).toBe(undefined)
    })
  })
}
