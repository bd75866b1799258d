import { join } from 'node:path'
import * as continuity from '@tidemark/session-continuity'
import type { AuthorizeQuestion, BoundHeader, Handle, Operation } from '@tidemark/session-continuity'
import type {} from '@tidemark/session-continuity/cordis'
import * as core from '@tidemark/session-core'
import type {} from '@tidemark/session-core/cordis'
import * as persistence from '@tidemark/session-persistence'
import type {} from '@tidemark/session-persistence/cordis'
import { Context, type Fiber } from 'cordis'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { scratch } from './scratch.ts'
import { Config, fileStoreOf, provideContinuity, rules, type Rules } from './source.ts'
import { allOperations, credential, isNoticed, refusalOf, trusting } from './world.ts'

const fibers: Fiber[] = []
afterEach(async () => {
  for (const fiber of fibers.splice(0).reverse()) await fiber.dispose()
})

let base: string
let operations: readonly Operation[]
beforeEach(() => {
  base = scratch()
  operations = allOperations
})

/** A host whose store asks, and whose continuity answers. */
async function start(weakened: Partial<Rules> = {}): Promise<{ ctx: Context; guard: Fiber }> {
  const ctx = new Context()
  fibers.push(await ctx.plugin(core))
  fibers.push(
    await ctx.plugin(persistence, { enabled: true, root: join(base, 'sessions'), authorize: 'required' }),
  )
  const settings = Config.parse({
    root: join(base, 'root'),
    witness: join(base, 'witness'),
    authenticators: [trusting],
    grants: () => ({ operations }),
  })
  const apply = (inner: Context): void => {
    const store = fileStoreOf(settings)!
    provideContinuity(inner, settings, { store, rules: { ...rules, ...weakened } })
  }
  const guard = await ctx.plugin({ name: 'guard', apply })
  fibers.push(guard)
  return { ctx, guard }
}

const open = (ctx: Context, id: string, scope = 's', mode: 'begin' | 'resume' = 'begin'): Promise<Handle> =>
  ctx.continuity.open({ mode, credential: credential(id), scope })

async function createdBy(ctx: Context, as: Handle, id: string): Promise<void> {
  const session = await ctx.sessionPersistence.create({ id, as, meta: as.sessionMeta })
  session.append('user/message', { parts: [{ type: 'text', text: id, author: 'human' }] })
  await ctx.sessions.flush(session)
  await ctx.sessions.dispose(session)
}

describe('enforcement', () => {
  it('a principal gets at the sessions of its scope, by every operation', async () => {
    const { ctx } = await start()
    const as = await open(ctx, 'alice')
    await createdBy(ctx, as, 'one')
    const stored = ctx.sessionPersistence
    await ctx.sessions.dispose(await stored.resume('one', { as }))
    expect((await stored.inspect('one', { as })).header.meta).toEqual({
      continuity: { principal: 'test:alice', scope: 's' },
    })
    await stored.fork('one', { as, id: 'child', meta: as.sessionMeta })
    expect((await stored.history('one', { as })).events.length).toBeGreaterThan(0)
    for await (const { events } of stored.follow('one', { as })) {
      expect(events.length).toBeGreaterThan(0)
      break
    }
    expect((await stored.verify('one', { as })).kind).toBe('intact')
    expect((await stored.list({ as })).sessions.map(({ id }) => id).sort()).toEqual(['child', 'one'])
    await stored.remove('one', { as })
  })

  const hidesFrom = async (weakened: Partial<Rules> = {}): Promise<void> => {
    const { ctx } = await start(weakened)
    const alice = await open(ctx, 'alice')
    await createdBy(ctx, alice, 'one')
    const elsewhere = await open(ctx, 'alice', 'other')
    const bob = await open(ctx, 'bob')
    const stored = ctx.sessionPersistence
    for (const as of [bob, elsewhere]) {
      const asks = (id: string) => [
        () => stored.resume(id, { as }),
        () => stored.inspect(id, { as }),
        () => stored.history(id, { as }),
        () => stored.fork(id, { as, id: 'stolen' }),
        () => stored.verify(id, { as }),
        () => stored.remove(id, { as }),
        async () => {
          for await (const _ of stored.follow(id, { as })) break
        },
      ]
      for (const [index, ask] of asks('one').entries()) {
        const refused = await refusalOf(ask)
        const unknown = await refusalOf(asks('two')[index]!)
        expect({ ...refused, message: refused.message.replaceAll('one', 'two') }).toMatchObject({
          code: 'NOT_FOUND',
          message: unknown.message,
        })
        expect(Object.keys(refused.details)).toEqual(Object.keys(unknown.details))
      }
      expect((await stored.list({ as })).sessions).toEqual([])
      // No part of an id is one; there are no titles to go by.
      for (const part of ['o', 'on', 'one*', 'ONE', ' one'])
        expect((await refusalOf(() => stored.resume(part, { as }))).code).toMatch(/^(NOT_FOUND|INVALID_ID)$/)
      // An id that is taken by somebody else is no more than one that cannot be had.
      expect(await refusalOf(() => stored.create({ id: 'one', as }))).toMatchObject({ code: 'NOT_FOUND' })
    }
    expect(ctx.continuity.refusedCount).toBeGreaterThan(20)
  }

  it('H04: to another principal, and in another scope, a session is not there: the answer is the same', () =>
    hidesFrom())

  it('without the look at the header what is not there is seen', async () => {
    expect(await isNoticed(() => hidesFrom({ isHeaderOf: () => true }))).toBe(true)
  })

  it('that an id is taken is told to whoever may create, and to nobody else', async () => {
    const { ctx } = await start()
    await createdBy(ctx, await open(ctx, 'alice'), 'one')
    const as = await open(ctx, 'bob')
    const terms = { id: 'one', as, meta: as.sessionMeta }
    expect((await refusalOf(() => ctx.sessionPersistence.create(terms))).code).toBe('EXISTS')
    operations = operations.filter((operation) => operation !== 'session/create')
    expect((await refusalOf(() => ctx.sessionPersistence.create(terms))).code).toBe('NOT_FOUND')
  })

  const hidesUnbound = async (weakened: Partial<Rules> = {}): Promise<void> => {
    const { ctx } = await start(weakened)
    const as = await open(ctx, 'alice')
    // With the right principal, and with the right scope, where one of the two is missing, empty or something else.
    const principal = 'test:alice'
    const scopes = [null, '', 0, [], ['s'], { s: 's' }, true]
    const metas: core.JsonObject[] = [
      {},
      ...[null, [], 's', principal].map((continuity) => ({ continuity })),
      { continuity: { principal } },
      ...scopes.map((scope) => ({ continuity: { principal, scope } })),
      { continuity: { scope: 's' } },
      ...[null, '', 0, [principal]].map((owner) => ({ continuity: { principal: owner, scope: 's' } })),
      { principal, scope: 's' },
    ]
    const claim = { incarnation: 'of another program', enabledBy: 'config' } as const
    for (const [index, meta] of metas.entries()) {
      const id = `s${index}`
      const refused = await refusalOf(() => ctx.sessionPersistence.create({ id, as, meta }))
      expect(refused).toMatchObject({ code: 'NOT_FOUND' })
      const header = { id, createdAt: 0, meta }
      await (await ctx.sessionStorage.create(header, { claim })).release()
      expect(await refusalOf(() => ctx.sessionPersistence.resume(id, { as }))).toMatchObject({
        code: 'NOT_FOUND',
      })
    }
    expect((await ctx.sessionPersistence.list({ as })).sessions).toEqual([])
  }

  it('H18: a session without a recorded principal and scope belongs to nobody', () => hidesUnbound())

  it.each<[string, Partial<Rules>]>([
    [
      'a scope',
      {
        isHeaderOf: ({ meta }, { principal }) => {
          const bound = meta?.continuity as { principal?: unknown; scope?: unknown } | undefined
          return bound?.principal === principal.id && (bound.scope ?? '') === ''
        },
      },
    ],
    [
      'a principal',
      {
        isHeaderOf: ({ meta }, { scope }) => {
          const bound = meta?.continuity as { principal?: unknown; scope?: unknown } | undefined
          return bound?.scope === scope && (bound.principal ?? '') === ''
        },
      },
    ],
  ])('H18: where one without %s belongs to somebody, it is seen', async (_, weakened) => {
    expect(await isNoticed(() => hidesUnbound(weakened))).toBe(true)
  })

  it('a handle that is closed, of an older generation, forged, or without a grant now, is none', async () => {
    const { ctx } = await start()
    const as = await open(ctx, 'alice')
    await createdBy(ctx, as, 'one')
    const resume = (who: unknown) => () => ctx.sessionPersistence.inspect('one', { as: who })
    const closed = await open(ctx, 'alice', 's', 'resume')
    await closed.close()
    for (const who of [closed, Object.create(as), { ...as }, 'alice', null, undefined])
      expect(await refusalOf(resume(who))).toMatchObject({ code: 'NOT_FOUND' })
    operations = ['begin', 'resume', 'reset']
    expect(await refusalOf(resume(as))).toMatchObject({ code: 'NOT_FOUND' })
    operations = allOperations
    await resume(as)()
    const other = await open(ctx, 'alice', 's', 'resume')
    const next = await other.reset({ reason: 'new' })
    expect(await refusalOf(resume(as))).toMatchObject({ code: 'NOT_FOUND' })
    await resume(next)()
  })

  it('while continuity is unloaded nothing is let in, and afterwards only by a new handle', async () => {
    const { ctx, guard } = await start()
    const as = await open(ctx, 'alice')
    await createdBy(ctx, as, 'one')
    await guard.dispose()
    expect(await refusalOf(() => ctx.sessionPersistence.resume('one', { as }))).toMatchObject({
      code: 'NOT_FOUND',
    })
    expect((await ctx.sessionPersistence.list({ as })).sessions).toEqual([])
  })

  it('one who acts for another gets at the other’s sessions, by what both are granted', async () => {
    const { ctx } = await start()
    await createdBy(ctx, await open(ctx, 'alice'), 'one')
    const onBehalfOf = { id: 'alice', kind: 'human', assurance: 1, authenticatedAt: 1_000 } as const
    const agent = await ctx.continuity.open({
      mode: 'begin',
      credential: credential('bot', { kind: 'agent', onBehalfOf }),
      scope: 's',
    })
    await ctx.sessionPersistence.inspect('one', { as: agent })
    const alone = await ctx.continuity.open({
      mode: 'begin',
      credential: credential('drone', { kind: 'agent' }),
      scope: 's',
    })
    expect(await refusalOf(() => ctx.sessionPersistence.inspect('one', { as: alone }))).toMatchObject({
      code: 'NOT_FOUND',
    })
  })

  it('H08: the label is the scope’s: forks cut before and after it was raised are under it, and nothing lowers it', async () => {
    const { ctx } = await start()
    const as = await open(ctx, 'alice')
    const session = await ctx.sessionPersistence.create({ id: 'one', as, meta: as.sessionMeta })
    session.append('user/message', { parts: [{ type: 'text', text: 'before', author: 'human' }] })
    await as.raise('secret')
    session.append('user/message', { parts: [{ type: 'text', text: 'after', author: 'human' }] })
    await ctx.sessions.flush(session)
    for (const [id, through] of [
      ['early', 0],
      ['late', 1],
    ] as const) {
      await ctx.sessionPersistence.fork(session, { id, as, through, meta: as.sessionMeta })
      const later = await open(ctx, 'alice', 's', 'resume')
      await ctx.sessionPersistence.inspect(id, { as: later })
      expect(later.sensitivity).toBe('secret')
      await later.raise('public')
      expect(later.sensitivity).toBe('secret')
    }
  })

  it('H11: a session keeps its id over a resume; what is new is the incarnation beside it', async () => {
    const { ctx } = await start()
    const as = await open(ctx, 'alice')
    await createdBy(ctx, as, 'one')
    const incarnations = new Set([as.incarnation])
    const heard: string[] = []
    for (const event of ['tidemark/created', 'tidemark/disposed'] as const)
      ctx.on(event, ({ id, header }) => void heard.push(id, header.id))
    for (let round = 0; round < 2; round++) {
      const handle = await open(ctx, 'alice', 's', 'resume')
      incarnations.add(handle.incarnation)
      const session = await ctx.sessionPersistence.resume('one', { as: handle })
      expect(session.id).toBe('one')
      await ctx.sessions.dispose(session)
    }
    expect(incarnations.size).toBe(3)
    expect(heard).toEqual(Array(8).fill('one'))
  })

  it('a flood of refused attempts on stored sessions stops nobody', async () => {
    const { ctx } = await start()
    const as = await open(ctx, 'alice')
    await createdBy(ctx, as, 'one')
    const flood = Promise.all(
      Array.from({ length: 500 }, () =>
        refusalOf(() => ctx.sessionPersistence.resume('one', { as: 'nobody' })),
      ),
    )
    await ctx.sessionPersistence.inspect('one', { as })
    expect(new Set((await flood).map(({ code }) => code))).toEqual(new Set(['NOT_FOUND']))
    expect(ctx.continuity.refusedCount).toBe(500)
  })
})

describe('a question that brings the headers', () => {
  const mine: BoundHeader = {
    meta: continuity.boundMeta({ id: 'test:alice', kind: 'human', assurance: 1, authenticatedAt: 1 }, 's'),
  }
  const other: BoundHeader = { meta: { continuity: { principal: 'test:bob', scope: 's' } } }

  const answerTo = async (question: Partial<AuthorizeQuestion>): Promise<string> => {
    const { ctx } = await start()
    const said: string[] = []
    const base = { operation: 'resume', sessionId: 'x', as: await open(ctx, 'alice') }
    const voices = { allow: () => void said.push('allow'), deny: () => void said.push('deny') }
    const listeners = ctx.events.dispatch('emit', ['tidemark/authorize', {}] as never) as ((
      each: unknown,
    ) => Promise<void>)[]
    for (const listener of listeners) await listener({ ...base, ...question, ...voices })
    return said.join()
  }

  it.each<[string, Partial<AuthorizeQuestion>, string]>([
    ['of one’s own session', { header: mine }, 'allow'],
    ['of somebody else’s', { header: other }, 'deny'],
    ['of a session to be created as one’s own', { operation: 'create', header: mine }, 'allow'],
    ['of a session to be created under another name', { operation: 'create', header: other }, 'deny'],
    ['of a fork that stays one’s own', { operation: 'fork', header: mine, childHeader: mine }, 'allow'],
    ['of a fork that leaves the scope', { operation: 'fork', header: mine, childHeader: other }, 'deny'],
    ['of an operation that nobody was granted', { operation: 'salvage', header: mine }, 'deny'],
  ])('%s is answered from them', async (_, question, answer) => {
    expect(await answerTo(question)).toBe(answer)
  })
})
