import type { Handle } from '@tidemark/session-continuity'
import type { Session } from '@tidemark/session-core'
import type { SessionStorage } from '@tidemark/session-persistence'
import type { Context } from 'cordis'
import { describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { encodeEvent } from '../../packages/session-persistence/src/encoded-event.ts'
import { create, leaveStored, open, say, startHost, type Hosted } from './hosted.ts'
import { scratch } from './scratch.ts'
import { allOperations, refusalOf } from './world.ts'

/** A stored session, and a plugin that says no to whatever would begin, once that is claimed. */
async function prepared(): Promise<{ host: Hosted; as: Handle; allow: () => void }> {
  const host = await startHost(scratch())
  const { ctx } = host
  const as = await open(ctx, 'begin')
  await leaveStored(ctx, as)
  let isRefusing = true
  const begins = (): undefined => {
    if (isRefusing) throw new TypeError('not now')
  }
  ctx.sessions.define({ owner: 'gate', events: { 'gate/pass': { schema: z.strictObject({}), begins } } })
  return { host, as, allow: () => void (isRefusing = false) }
}

const ways: Readonly<Record<string, (ctx: Context, as: Handle) => Promise<Session>>> = {
  create: (ctx, as) => ctx.sessionPersistence.create({ id: 'two', as, meta: as.sessionMeta }),
  fork: (ctx, as) => ctx.sessionPersistence.fork('one', { id: 'two', as, meta: as.sessionMeta }),
  'fork of a living one': async (ctx, as) => {
    const living = ctx.sessions.find('one')!
    return ctx.sessionPersistence.fork(living, { id: 'two', as, meta: as.sessionMeta })
  },
}

const listed = async (ctx: Context, as: Handle): Promise<string[]> =>
  (await ctx.sessionPersistence.list({ as })).sessions.map(({ id }) => id).sort()

const storageOf = (ctx: Context): SessionStorage => ctx.get('sessionStorage') as SessionStorage

describe('a session that is refused when it is made, after it was claimed', () => {
  it.each(Object.entries(ways))(
    'G5: by a %s: nothing of it is left, and its id is free',
    async (name, make) => {
      const { host, as, allow } = await prepared()
      const { ctx } = host
      if (name.includes('living')) {
        allow()
        await ctx.sessionPersistence.resume('one', { as })
        ctx.sessions.define({
          owner: 'second gate',
          events: { 'gate/second': { schema: z.strictObject({}), begins: refuseOnce() } },
        })
      }
      expect(await refusalOf(() => make(ctx, as))).toMatchObject({ code: 'INVALID_EVENT' })
      expect(ctx.sessions.find('two')).toBeUndefined()
      expect(await listed(ctx, as)).toEqual(['one'])
      allow()
      const session = await make(ctx, as)
      say(session, 'goes on')
      await ctx.sessions.flush(session)
      // Nothing of the handle was lost with it.
      await as.close()
    },
  )

  it('G5: by a fork whose boundary may not be written: nothing of it is left', async () => {
    let operations = allOperations
    const { ctx } = await startHost(scratch(), { grants: () => ({ operations }) })
    const as = await open(ctx, 'begin')
    await leaveStored(ctx, as)
    // What is made now begins with a label of its own.
    await as.raise('secret')
    operations = allOperations.filter((operation) => operation !== 'session/flush')
    expect(await refusalOf(() => ways.fork!(ctx, as))).toMatchObject({ code: 'DENIED' })
    operations = allOperations
    expect(await listed(ctx, as)).toEqual(['one'])
    // Nobody was given it: it leaves no orphan.
    await as.close()
    const next = await open(ctx, 'resume')
    expect(await ctx.continuity.orphans({ as: next })).toEqual([])
    await ways.fork!(ctx, next)
  })

  it('by a resume: the lease is given back, and all is as it was', async () => {
    const { host, as, allow } = await prepared()
    const { ctx } = host
    const before = await ctx.sessionPersistence.history('one', { as })
    for (let times = 0; times < 3; times++)
      expect(await refusalOf(() => ctx.sessionPersistence.resume('one', { as }))).toMatchObject({
        code: 'INVALID_EVENT',
      })
    expect((await ctx.sessionPersistence.history('one', { as })).events).toEqual(before.events)
    expect([...ctx.sessions]).toEqual([])
    // A lease that was left would be told as a living writer.
    await (
      await storageOf(ctx).acquire('one', { claim: { incarnation: 'x', enabledBy: 'config' } })
    ).release()
    allow()
    const session = await ctx.sessionPersistence.resume('one', { as })
    say(session, 'goes on')
    await ctx.sessions.flush(session)
    expect([...session.log].filter(({ type }) => type === 'user/message')).toHaveLength(2)
  })

  it('by continuity, whose handle ended meanwhile: a create leaves nothing', async () => {
    const { ctx } = await startHost(scratch())
    const as = await open(ctx, 'begin')
    const storage = storageOf(ctx)
    const { create: original } = storage
    vi.spyOn(storage, 'create').mockImplementationOnce(async (...all) => {
      const lease = await original.apply(storage, all)
      await as.close()
      return lease
    })
    await refusalOf(() => create(ctx, as, 'two'))
    const next = await open(ctx, 'resume')
    expect(await listed(ctx, next)).toEqual([])
    await create(ctx, next, 'two')
  })

  it.each<[string, (storage: SessionStorage) => Promise<void>]>([
    [
      'wrote to it',
      async (storage) => {
        const lease = await storage.acquire('two', { claim: { incarnation: 'other', enabledBy: 'config' } })
        const event = encodeEvent({ seq: 0, time: 1, type: 'gate/said', data: {} })
        await lease.append([event], { expectedTail: lease.tail, epoch: lease.epoch, batchId: 'b' })
        await lease.release()
      },
    ],
    [
      'has it open',
      async (storage) => {
        await storage.acquire('two', { claim: { incarnation: 'other', enabledBy: 'config' } })
      },
    ],
  ])('and that somebody else %s by then, is left to it', async (_, come) => {
    const { host, as } = await prepared()
    const { ctx } = host
    const storage = storageOf(ctx)
    const { acquire } = storage
    const came = vi.fn(come)
    vi.spyOn(storage, 'acquire').mockImplementationOnce(async (...all) => {
      await came(storage)
      return acquire.apply(storage, all)
    })
    await refusalOf(() => ways.create!(ctx, as))
    await came.mock.results[0]!.value
    expect(await listed(ctx, as)).toEqual(['one', 'two'])
  })
})

function refuseOnce(): () => undefined {
  let isRefusing = true
  return () => {
    const was = isRefusing
    isRefusing = false
    if (was) throw new TypeError('not now')
  }
}
