import { encodeEvent, type EncodedEvent } from '../../encoded-event.ts'
import type { SessionStorage } from '../../storage.ts'
import { append, event, headerOf, newClaim, upTo } from './batches.ts'
import type { Facts } from './fact.ts'
import { allRefused } from './refusal.ts'

function message(seq: number, author: string, time: number): EncodedEvent {
  const data = { parts: [{ type: 'text', text: 'x', author }] }
  return encodeEvent(event(seq, data, { type: 'user/message', time }))
}

type Messages = readonly (readonly [author: string, time: number])[]

/** A session in which these spoke at these times. */
async function spoken(storage: SessionStorage, id: string, messages: Messages = []): Promise<void> {
  const lease = await storage.create(headerOf(id), { claim: newClaim() })
  if (messages.length === 0) return
  await append(
    lease,
    messages.map(([author, time], seq) => message(seq, author, time)),
  )
}

async function allPages(storage: SessionStorage, countMax: number): Promise<string[][]> {
  const pages: string[][] = []
  let after: string | undefined
  do {
    const page = await storage.list({ countMax, ...(after !== undefined && { after }) })
    pages.push(page.sessions.map(({ id }) => id))
    after = page.next
  } while (after !== undefined)
  return pages
}

export const listFacts: Facts = {
  'an empty storage lists nothing': async ({ storage, expect }) => {
    expect(await storage.list({ countMax: 10 })).toEqual({ sessions: [] })
  },

  'a line says what the header and the events say': async ({ storage, expect }) => {
    await spoken(storage, 'a', [
      ['human', 5_000],
      ['agent', 7_000],
    ])
    const line = { id: 'a', status: 'ok', header: headerOf('a'), createdAt: 1_000, lastSeq: 1 }
    expect(await storage.list({ countMax: 10 })).toEqual({
      sessions: [{ ...line, lastTime: 7_000, lastHumanTime: 5_000 }],
    })
  },

  'an empty session was last active when it was created': async ({ storage, expect }) => {
    await spoken(storage, 'a')
    const { sessions } = await storage.list({ countMax: 10 })
    expect(sessions).toEqual([
      { id: 'a', status: 'ok', header: headerOf('a'), createdAt: 1_000, lastSeq: -1, lastTime: 1_000 },
    ])
  },

  'O01: newest human activity comes first; what agents write and who merely opens does not count': async ({
    storage,
    expect,
  }) => {
    await spoken(storage, 'old', [
      ['human', 2_000],
      ['agent', 99_000],
    ])
    await spoken(storage, 'new', [['human', 3_000]])
    await spoken(storage, 'none', [['agent', 98_000]])
    await (await storage.acquire('old', { claim: newClaim(), force: true })).release()
    expect((await allPages(storage, 10)).flat(), 'the order').toEqual(['new', 'old', 'none'])
  },

  'O01: a list shows what was appended since the one before, by a lease that is held, released or taken over from':
    async ({ storage, expect }) => {
      await spoken(storage, 'a', [['human', 2_000]])
      await spoken(storage, 'b', [['human', 3_000]])
      expect((await allPages(storage, 10)).flat()).toEqual(['b', 'a'])
      const first = await storage.acquire('a', { claim: newClaim(), force: true })
      await append(first, [message(1, 'human', 4_000)])
      expect((await allPages(storage, 10)).flat(), 'the order, a being written').toEqual(['a', 'b'])
      await first.release()
      const second = await storage.acquire('b', { claim: newClaim(), force: true })
      await append(second, [message(1, 'human', 5_000)])
      const third = await storage.acquire('b', { claim: newClaim(), force: true })
      await second.release()
      await append(third, [message(2, 'human', 6_000)])
      const { sessions } = await storage.list({ countMax: 1 })
      expect(sessions, 'the first, after b was taken over').toMatchObject([
        { id: 'b', lastSeq: 2, lastHumanTime: 6_000 },
      ])
      await third.release()
      expect((await allPages(storage, 10)).flat(), 'the order, all released').toEqual(['b', 'a'])
    },

  'pages hold each session once, in one order, ties by id': async ({ storage, expect }) => {
    const ids = upTo(7).map((index) => `s${index}`)
    for (const id of [...ids].reverse()) await spoken(storage, id, [['human', 4_000]])
    await spoken(storage, 'first', [['human', 9_000]])
    await spoken(storage, 'last')
    const order = ['first', ...ids, 'last']
    expect(await allPages(storage, 4), 'pages of four').toEqual([
      order.slice(0, 4),
      order.slice(4, 8),
      order.slice(8),
    ])
    for (const countMax of [1, 3, 9, 10, 5_000])
      expect((await allPages(storage, countMax)).flat(), `pages of ${countMax}`).toEqual(order)
  },

  'a cursor that is none is refused': async ({ storage, expect }) => {
    await spoken(storage, 'a')
    for (const after of ['', 'x', 'eyJhIjoxfQ', 'W10']) {
      const name = `list, after ${JSON.stringify(after)},`
      await allRefused(expect, 'INVALID_SEQ', { [name]: () => storage.list({ after, countMax: 1 }) })
    }
  },

  'L06: ids that are names of every object are ids like others': async ({ storage, expect }) => {
    const ids = ['__proto__', 'constructor', 'hasOwnProperty', 'prototype', 'toString']
    for (const id of ids) await spoken(storage, id, [['human', 4_000]])
    expect((await allPages(storage, 10)).flat()).toEqual(ids)
    expect(({} as { x?: unknown }).x).toBe(undefined)
  },
}
