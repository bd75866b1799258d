import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { load, reported, say, start, startJournal, stop, type Started } from '../host.ts'
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

describe('a session without its snapshots', () => {
  it('is read whole once, though nothing is written in that life', async () => {
    const root = scratch()
    const config = { enabled: true, root, flushDelayMs: 5, retainEvents: 0 }
    const first = await start(config)
    first.ctx.sessions.define(plugin)
    talk(await first.ctx.sessionPersistence.create({ id: 'a' }), 3_000, seeded(1))
    await stop(first)
    const folder = join(root, 'sessions', 's-a')
    const snapshots = () => readdirSync(folder).filter((name) => name.startsWith('snapshot-'))
    expect(snapshots()).not.toEqual([])
    for (const name of snapshots()) rmSync(join(folder, name))

    const bases: number[] = []
    const lengths: number[] = []
    for (const _ of [1, 2, 3]) {
      const host = await start(config)
      host.ctx.sessions.define(plugin)
      const session = await host.ctx.sessionPersistence.resume('a')
      bases.push(session.log.base)
      lengths.push(session.log.length)
      await stop(host)
      expect(snapshots()).toHaveLength(1)
    }
    expect([bases[0], bases[1]! > 0, bases[2]! > 0]).toEqual([0, true, true])
    // The one boundary that was written is at the end, and there it is the next life's too.
    expect(new Set(lengths).size).toBe(1)
  })
})

describe('a plugin that goes before the store closes', () => {
  const defining = (ctx: Started['ctx']) =>
    load(ctx, ['sessions'], (guest) => guest.effect(() => guest.sessions.define(plugin)))

  async function life(root: string): Promise<Started> {
    const host = await start({ enabled: true, root, flushDelayMs: 5, retainEvents: 0 })
    await defining(host.ctx)
    return host
  }

  it('leaves its states in the last snapshot, as an ordinary end of a host has it', async () => {
    const root = scratch()
    const first = await life(root)
    const session = await first.ctx.sessionPersistence.create({ id: 'a' })
    talk(session, 3_000, seeded(1))
    const said = session.read(tally)['user/message']
    await stop(first)
    const { ctx } = await life(root)
    const resumed = await ctx.sessionPersistence.resume('a')
    expect(resumed.log.base).toBeGreaterThan(0)
    expect(resumed.read(tally)['user/message']).toBe(said)
    expect(reported(ctx)).toEqual([])
  })

  it('also where it goes while the session is being closed', async () => {
    const root = scratch()
    const host = await start({ enabled: true, root, flushDelayMs: 5, retainEvents: 0 })
    host.ctx.sessions.define({ ...plugin, projections: [] })
    const undefine = host.ctx.sessions.define({ owner: 'tally', projections: [tally] })
    const session = await host.ctx.sessionPersistence.create({ id: 'a' })
    talk(session, 3_000, seeded(1))
    const said = session.read(tally)['user/message']
    const disposed = host.ctx.sessions.dispose(session)
    while (host.ctx.sessions.find('a')) await new Promise((resolve) => setImmediate(resolve))
    undefine()
    await disposed
    await stop(host)
    const { ctx } = await life(root)
    expect((await ctx.sessionPersistence.resume('a')).read(tally)['user/message']).toBe(said)
  })

  it('and a fork that is cut before it went counts what it inherits, and no more', async () => {
    const { ctx } = await start({ enabled: true, root: scratch(), flushDelayMs: 5 })
    ctx.sessions.define({ ...plugin, projections: [] })
    const counting = () =>
      load(ctx, ['sessions'], (guest) =>
        guest.effect(() => guest.sessions.define({ owner: 'tally', projections: [{ ...tally }] })),
      )
    const guest = await counting()
    const session = await ctx.sessionPersistence.create({ id: 'a' })
    talk(session, 300, seeded(1))
    await guest.dispose()
    const through = [...session.log].find(({ type, seq }) => type === 'turn/end' && seq > 100)!.seq
    const child = await ctx.sessionPersistence.fork(session, { through })
    await counting()
    const count = [...child.log].filter(({ type }) => type === 'assistant/chunk').length
    expect(child.read(tally)['assistant/chunk']).toBe(count)
  })
})
