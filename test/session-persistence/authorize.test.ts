import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { AuthorizeRequest } from '@tidemark/session-persistence'
import type { Context } from 'cordis'
import { beforeEach, describe, expect, it } from 'vitest'
import { folderOf, hashOf } from './files.ts'
import { say, startJournal, stop, start } from './host.ts'
import { codeOf, refusalOf } from './refusal.ts'
import { scratch } from './scratch.ts'

let root: string
let ctx: Context

beforeEach(async () => {
  root = join(scratch(), 'root')
  const before = await start({ enabled: true, root })
  for (const id of ['a', 'b', 'c']) {
    const session = await before.ctx.sessionPersistence.create({ id })
    say(session, id)
  }
  await stop(before)
  ctx = await startJournal(root, { authorize: 'required' })
})

const all = (id: string, as: unknown) => [
  () => ctx.sessionPersistence.resume(id, { as }),
  () => ctx.sessionPersistence.inspect(id, { as }),
  () => ctx.sessionPersistence.fork(id, { as, id: 'child' }),
  () => ctx.sessionPersistence.verify(id, { as }),
  () => ctx.sessionPersistence.repair(id, { as, acceptLossAfter: 0 }),
  () => ctx.sessionPersistence.salvage(id, { as, id: 'child' }),
]

const refusedAll = async (as: unknown): Promise<void> => {
  const before = hashOf(root, 'a')
  for (const [index, ask] of all('a', as).entries()) {
    const refusal = await refusalOf(ask)
    const unknown = await refusalOf(all('nobody', as)[index]!)
    expect({ ...refusal, message: refusal.message }).toEqual({
      ...unknown,
      message: unknown.message,
      details: refusal.details,
    })
    expect(refusal).toMatchObject({ code: 'NOT_FOUND', details: { sessionId: 'a' } })
    expect(Object.keys(refusal.details)).toEqual(Object.keys(unknown.details))
  }
  expect(await ctx.sessionPersistence.list({ as })).toEqual({ sessions: [] })
  expect(hashOf(root, 'a')).toBe(before)
}

describe('authorize: required', () => {
  it('G32: without a listener the answer is no', () => refusedAll('me'))

  it('without a caller the answer is no, whoever listens', async () => {
    ctx.on('tidemark/authorize', (request) => request.allow())
    await refusedAll(undefined)
  })

  it('one yes is enough, and the request says what is asked', async () => {
    const asked: Partial<AuthorizeRequest>[] = []
    ctx.on('tidemark/authorize', ({ operation, sessionId, childId, as, allow }) => {
      asked.push({ operation, sessionId, as, ...(childId !== undefined && { childId }) })
      allow()
    })
    const as = { name: 'me' }
    const session = await ctx.sessionPersistence.create({ id: 'new', as })
    await ctx.sessionPersistence.resume('a', { as })
    await ctx.sessionPersistence.fork(session, { id: 'child', as })
    await ctx.sessionPersistence.inspect('b', { as })
    expect(asked).toEqual([
      // Once more when the session is there: whoever went away meanwhile saw nothing of it.
      { operation: 'create', sessionId: 'new', as },
      { operation: 'create', sessionId: 'new', as },
      { operation: 'resume', sessionId: 'a', as },
      { operation: 'resume', sessionId: 'a', as },
      { operation: 'fork', sessionId: 'new', childId: 'child', as },
      { operation: 'fork', sessionId: 'new', childId: 'child', as },
      { operation: 'flush', sessionId: 'child', as },
      { operation: 'inspect', sessionId: 'b', as },
    ])
    expect(asked.every((request) => request.as === as)).toBe(true)
  })

  it('who answers is told whose session it is: as it is stored, as it is to be, and damaged', async () => {
    const owners: [string, unknown, unknown][] = []
    ctx.on('tidemark/authorize', ({ operation, header, childHeader, allow }) => {
      owners.push([operation, header?.meta?.['owner'], childHeader?.meta?.['owner']])
      allow()
    })
    const as = 'me'
    const mine = { owner: 'me' }
    const session = await ctx.sessionPersistence.create({ id: 'mine', meta: mine, as })
    say(session, 'x')
    await session.flush()
    await ctx.sessions.dispose(session)
    await ctx.sessionPersistence.inspect('mine', { as })
    await ctx.sessionPersistence.fork('mine', { id: 'child', meta: { owner: 'them' }, as })
    const segment = join(folderOf(root, 'mine'), '000001-000.jsonl')
    writeFileSync(segment, readFileSync(segment, 'utf8').replace('"seq":0', '"seq":7'))
    await ctx.sessionPersistence.verify('mine', { as })
    expect(await codeOf(() => ctx.sessionPersistence.inspect('nobody', { as }))).toBe('NOT_FOUND')
    expect(owners).toEqual([
      ['create', 'me', undefined],
      ['create', 'me', undefined],
      ['flush', 'me', undefined],
      ['inspect', 'me', undefined],
      ['fork', 'me', 'them'],
      ['fork', 'me', 'them'],
      ['flush', 'them', undefined],
      ['verify', 'me', undefined],
      ['inspect', undefined, undefined],
    ])
  })

  it('G32: what a caller may not write any more is not written, and its session is over', async () => {
    let isAllowed = true
    ctx.on('tidemark/authorize', (request) => void (isAllowed && request.allow()))
    const session = await ctx.sessionPersistence.resume('a', { as: 'me' })
    say(session, 'while it was allowed')
    await session.flush()
    const { durableSeq } = session
    isAllowed = false
    say(session, 'after that')
    expect(await codeOf(() => session.flush())).toBe('DENIED')
    expect(await codeOf(() => say(session, 'more'))).toBe('DENIED')
    expect(session.durableSeq).toBe(durableSeq)
    isAllowed = true
    await ctx.sessions.dispose(session)
    expect((await ctx.sessionPersistence.inspect('a', { as: 'me' })).log.length).toBe(durableSeq + 1)
  })

  it('G32: a follower is asked about again while it follows', async () => {
    let isAllowed = true
    ctx.on('tidemark/authorize', (request) => void (isAllowed && request.allow()))
    const session = await ctx.sessionPersistence.resume('a', { as: 'me' })
    const batches = ctx.sessionPersistence.follow('a', { as: 'me', pollMs: 10 })
    expect((await batches.next()).done).toBe(false)
    const ended = (async () => {
      for await (const _ of batches);
    })()
    const over = ended.then(
      () => 'ended',
      (error: unknown) => (error as { code: string }).code,
    )
    let isOver = false
    void over.then(() => (isOver = true))
    for (let turn = 0; !isOver; turn++) {
      isAllowed = true
      say(session, `turn ${turn}`)
      await session.flush()
      isAllowed = false
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    expect(await over).toBe('NOT_FOUND')
    isAllowed = true
  })

  it('G32: one no outweighs every yes, whatever the order', async () => {
    ctx.on('tidemark/authorize', (request) => request.allow())
    const off = ctx.on('tidemark/authorize', async (request) => {
      await Promise.resolve()
      request.deny()
    })
    ctx.on('tidemark/authorize', (request) => request.allow())
    await refusedAll('me')
    off()
    await ctx.sessionPersistence.resume('a', { as: 'me' })
  })

  it.each([
    [
      'throws',
      () => {
        throw new TypeError('broken')
      },
    ],
    [
      'rejects',
      async () => {
        await Promise.resolve()
        throw new TypeError('broken')
      },
    ],
  ])('a listener that %s makes it a no', async (_, listener) => {
    ctx.on('tidemark/authorize', (request) => request.allow())
    ctx.on('tidemark/authorize', listener)
    await refusedAll('me')
  })

  it('a yes that comes too late is none', async () => {
    let late: AuthorizeRequest | undefined
    ctx.on('tidemark/authorize', (request) => void (late = request))
    await refusedAll('me')
    late?.allow()
    expect(await codeOf(() => ctx.sessionPersistence.inspect('a', { as: 'me' }))).toBe('NOT_FOUND')
  })

  it('G32: the answer comes before LOCKED, EXISTS and CORRUPT', async () => {
    const off = ctx.on('tidemark/authorize', (request) => request.allow())
    await ctx.sessionPersistence.resume('a', { as: 'me' })
    off()
    await refusedAll('me')
    expect(await codeOf(() => ctx.sessionPersistence.create({ id: 'a', as: 'me' }))).toBe('NOT_FOUND')
    expect(await codeOf(() => ctx.sessionPersistence.create({ id: 'fresh', as: 'me' }))).toBe('NOT_FOUND')
  })

  it('a list shows what the caller may list, in full pages', async () => {
    ctx.on('tidemark/authorize', (request) => {
      if (request.operation === 'list' && request.sessionId !== 'b') request.allow()
    })
    const first = await ctx.sessionPersistence.list({ as: 'me', countMax: 1 })
    const second = await ctx.sessionPersistence.list({ as: 'me', countMax: 1, after: first.next! })
    const shown = [...first.sessions, ...second.sessions].map(({ id }) => id)
    expect(shown.sort()).toEqual(['a', 'c'])
    // What a cursor holds is the place of a session that was shown.
    for (const { next } of [first, second])
      expect(Buffer.from(next ?? '', 'base64url').toString()).not.toContain('"b"')
    expect((await ctx.sessionPersistence.list({ as: 'me' })).sessions).toHaveLength(2)
  })

  it('off, nobody is asked', async () => {
    const other = await startJournal(root, { authorize: 'off' })
    other.on('tidemark/authorize', (request) => request.deny())
    await other.sessionPersistence.inspect('a')
    expect((await other.sessionPersistence.list()).sessions).toHaveLength(3)
  })
})
