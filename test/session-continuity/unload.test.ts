import type { Handle } from '@tidemark/session-continuity'
import type { Session } from '@tidemark/session-core'
import type { SessionStorage } from '@tidemark/session-persistence'
import type { Context } from 'cordis'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { leaveStored, open, say, startHost, type Hosted } from './hosted.ts'
import { scratch } from './scratch.ts'
import { refusalOf } from './world.ts'

let base: string
beforeEach(() => {
  base = scratch()
})

/** How a stored session comes to live, and the calls to the storage that it takes, in their order. */
const ways: Readonly<
  Record<
    string,
    { calls: readonly (keyof SessionStorage)[]; make: (ctx: Context, as: Handle) => Promise<Session> }
  >
> = {
  'a create': {
    calls: ['create'],
    make: (ctx, as) => ctx.sessionPersistence.create({ id: 'two', as, meta: as.sessionMeta }),
  },
  'a resume': {
    calls: ['read', 'acquire'],
    make: (ctx, as) => ctx.sessionPersistence.resume('one', { as }),
  },
  'a fork': {
    calls: ['read', 'fork'],
    make: (ctx, as) => ctx.sessionPersistence.fork('one', { id: 'two', as, meta: as.sessionMeta }),
  },
}

/** A host with a stored session that nobody holds, below a scope that was raised since. */
async function prepared(): Promise<{ host: Hosted; as: Handle }> {
  const host = await startHost(base)
  const { ctx } = host
  const as = await open(ctx, 'begin')
  await leaveStored(ctx, as)
  await as.raise('secret')
  return { host, as }
}

/** Holds up the next such call to the storage, after what it does. */
function heldUp(ctx: Context, call: keyof SessionStorage): { reached: Promise<void>; release: () => void } {
  const storage = ctx.get('sessionStorage') as SessionStorage
  let release = (): void => undefined
  const released = new Promise<void>((resolve) => (release = resolve))
  let reach = (): void => undefined
  const reached = new Promise<void>((resolve) => (reach = resolve))
  const original = (storage[call] as (...all: unknown[]) => unknown).bind(storage)
  const spy = vi.spyOn(storage, call as never) as unknown as {
    mockImplementationOnce: (work: (...all: unknown[]) => unknown) => void
  }
  spy.mockImplementationOnce(async (...all) => {
    const answer = await original(...all)
    reach()
    await released
    return answer
  })
  return { reached, release }
}

describe('continuity is unloaded while a session is opened', () => {
  const moments = Object.entries(ways).flatMap(([name, { calls }]) =>
    calls.map((call) => [name, call] as const),
  )

  it.each(moments)(
    '%s, at its %s: nothing is opened, also where somebody else says yes',
    async (name, call) => {
      const { host, as } = await prepared()
      const { ctx } = host
      ctx.on('tidemark/authorize', ({ allow }) => allow())
      const { reached, release } = heldUp(ctx, call)
      const made = ways[name]!.make(ctx, as)
      const refused = refusalOf(() => made)
      await reached
      await host.continuity.dispose()
      release()
      expect(await refused).toMatchObject({ code: 'NOT_FOUND' })
      expect([...ctx.sessions].map(({ id }) => id)).toEqual([])
    },
  )

  it.each(moments)('%s, at its %s, while the unload is under way', async (name, call) => {
    const { host, as } = await prepared()
    const { ctx } = host
    // Whoever uses it goes first, and takes its time: what is open is open still.
    let leave = (): void => undefined
    const left = new Promise<void>((resolve) => (leave = resolve))
    await ctx.plugin({
      name: 'user',
      inject: ['continuity'],
      apply: (inner: Context) => void inner.effect(() => () => left),
    })
    const { reached, release } = heldUp(ctx, call)
    const made = ways[name]!.make(ctx, as)
    const refused = refusalOf(() => made)
    await reached
    const unloaded = host.continuity.dispose()
    for (let turns = 0; turns < 20; turns++) await new Promise((resolve) => setImmediate(resolve))
    release()
    try {
      await refused
      expect([...ctx.sessions].map(({ id }) => id)).toEqual([])
    } finally {
      leave()
    }
    await unloaded
  })

  it.each(Object.entries(ways))(
    '%s under another one that is loaded by then is none of its own',
    async (_, way) => {
      const { host, as } = await prepared()
      const { ctx } = host
      const { reached, release } = heldUp(ctx, way.calls[0]!)
      const made = way.make(ctx, as)
      const refused = refusalOf(() => made)
      await reached
      await host.continuity.restart()
      await expect.poll(() => ctx.get('continuity')).toBeDefined()
      release()
      await refused
      expect([...ctx.sessions].map(({ id }) => id)).toEqual([])
    },
  )

  it.each(Object.entries(ways))(
    '%s that nothing is unloaded in is opened, at its label',
    async (_, { make }) => {
      const { host, as } = await prepared()
      const session = await make(host.ctx, as)
      expect(host.ctx.continuity.labelOf(session)).toBe('secret')
      say(session, 'goes on')
      await host.ctx.sessions.flush(session)
    },
  )
})
