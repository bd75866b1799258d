import { describe, expect, it } from 'vitest'
import { reported, say, start, startJournal, stop, type Started } from '../host.ts'
import { codeOf } from '../refusal.ts'
import { scratch } from '../scratch.ts'
import { plugin, seeded, talk, tally } from './told.ts'

it('a session that nobody compacts keeps in memory no more than its states hold, besides the window', async () => {
  const config = { snapshotEvents: 100, retainEvents: 0 }
  const ctx = await startJournal(scratch(), config)
  const session = await ctx.sessionPersistence.create({ id: 'a' })
  const shares: number[] = []
  while (session.log.length < 3_000) {
    for (let said = 0; said < 5; said++) say(session, 'word '.repeat(80))
    await session.flush()
    const { length, base } = session.log
    if (length > 1_000) shares.push((length - base) / length)
  }
  // The transcript has all that was said until the last snapshot; the log, what was said since then.
  expect(Math.max(...shares)).toBeLessThan(0.6)
  expect(session.messages()).toHaveLength(3_000)
  expect(reported(ctx)).toEqual([])
})

describe('a projection whose version changed', () => {
  const newer = { ...tally, version: 2 }

  async function nextLife(root: string): Promise<Started> {
    const host = await start({ enabled: true, root, flushDelayMs: 5, retainEvents: 0 })
    host.ctx.sessions.define({ ...plugin, projections: [newer] })
    return host
  }

  it('reads the whole log once, also where each life is short', async () => {
    const root = scratch()
    const first = await start({ enabled: true, root, flushDelayMs: 5, retainEvents: 0 })
    first.ctx.sessions.define(plugin)
    const session = await first.ctx.sessionPersistence.create({ id: 'a' })
    talk(session, 3_000, seeded(1))
    await stop(first)

    const second = await nextLife(root)
    const resumed = await second.ctx.sessionPersistence.resume('a')
    expect(await codeOf(() => resumed.read(newer))).toBe('NOT_LOADED')
    await resumed.load(newer)
    const counts = resumed.read(newer)
    talk(resumed, resumed.log.length + 10, seeded(2))
    const said = resumed.read(newer)['user/message'] ?? 0
    expect(said).toBeGreaterThan(counts['user/message'] ?? 0)
    await stop(second)

    for (const _ of [1, 2]) {
      const { ctx, ...host } = await nextLife(root)
      const again = await ctx.sessionPersistence.resume('a')
      expect(again.log.base).toBeGreaterThan(0)
      expect(again.read(newer)['user/message']).toBe(said)
      await stop({ ctx, ...host })
    }
  })

  it('that nobody loads costs a short life no snapshot', async () => {
    const root = scratch()
    const first = await start({ enabled: true, root, flushDelayMs: 5, retainEvents: 0 })
    first.ctx.sessions.define(plugin)
    talk(await first.ctx.sessionPersistence.create({ id: 'a' }), 3_000, seeded(1))
    await stop(first)
    const second = await nextLife(root)
    const session = await second.ctx.sessionPersistence.resume('a')
    talk(session, session.log.length + 10, seeded(2))
    await stop(second)
    const third = await nextLife(root)
    const resumed = await third.ctx.sessionPersistence.resume('a')
    expect(await codeOf(() => resumed.read(newer))).toBe('NOT_LOADED')
  })
})
