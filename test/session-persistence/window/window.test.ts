import { readdirSync } from 'node:fs'
import type { Session } from '@tidemark/session-core'
import type { Context } from 'cordis'
import { describe, expect, it } from 'vitest'
import { folderOf } from '../files.ts'
import { reported, start, startJournal, stop } from '../host.ts'
import { codeOf } from '../refusal.ts'
import { scratch } from '../scratch.ts'
import { derived, plugin, seeded, talk, tally, wholeHistory, work } from './told.ts'

const small = { snapshotEvents: 300, snapshotSizeBytes: 1_000_000, retainEvents: 0 }
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

async function host(root: string, config = {}): Promise<Context> {
  const ctx = await startJournal(root, { ...small, ...config })
  ctx.sessions.define(plugin)
  return ctx
}

/** The same events in a session that lets go of nothing. */
async function twinOf(session: Session): Promise<Session> {
  const { ctx } = await start()
  ctx.sessions.define(plugin)
  const events = await wholeHistory(session)
  return ctx.sessions.create({ header: session.header, seed: plain(events) as [] })
}

/** The same events in a session that lets go of nothing, as if they had been appended to it: without a boundary. */
async function wholeOf(session: Session) {
  const { ctx } = await start()
  ctx.sessions.define(plugin)
  const whole = ctx.sessions.create({ id: session.id })
  for (const { type, data } of await wholeHistory(session))
    whole.append(type as 'turn/start', plain(data) as object)
  return { ctx, session: whole }
}

/** Appends with a flush now and then, and waits until something was let go of. */
async function talked(session: Session, length: number, seed: number): Promise<void> {
  const random = seeded(seed)
  while (session.log.length < length) {
    talk(session, Math.min(length, session.log.length + 200), random)
    await session.flush()
    await new Promise((resolve) => setImmediate(resolve))
  }
}

describe('a session that lets go of what is stored', () => {
  it('G36: derives the same as one that holds everything, living, resumed, inspected and forked', async () => {
    const root = scratch()
    const ctx = await host(root)
    const session = await ctx.sessionPersistence.create({ id: 'a' })
    await talked(session, 6_000, 1)
    expect(session.log.base).toBeGreaterThan(3_000)
    const living = await wholeOf(session)
    expect(plain(derived(session))).toEqual(plain(derived(living.session)))
    const truth = derived(await twinOf(session))
    await ctx.sessions.dispose(session)

    const inspected = await ctx.sessionPersistence.inspect('a')
    expect(inspected.log.base).toBeGreaterThan(3_000)
    const resumed = await ctx.sessionPersistence.resume('a')
    expect(resumed.log.base).toBeGreaterThan(3_000)
    expect(plain(derived(resumed))).toEqual(plain(truth))
    const twin = derived(await twinOf(resumed))
    expect(plain(derived(resumed))).toEqual(plain(twin))
    expect(reported(ctx)).toEqual([])
  })

  it('G38: gives every event back in pages, forward and backward, within the bounds', async () => {
    const ctx = await host(scratch())
    const session = await ctx.sessionPersistence.create({ id: 'a' })
    await talked(session, 3_000, 2)
    const all = await wholeHistory(session)
    expect(all.map(({ seq }) => seq)).toEqual(all.map((_, index) => index))
    expect(all).toHaveLength(session.log.length)
    const backward = []
    let page = await session.history({ order: 'backward', countMax: 77, sizeBytesMax: 5_000 })
    for (;;) {
      expect(page.events.length).toBeLessThanOrEqual(77)
      expect(JSON.stringify(page.events).length).toBeLessThan(6_000)
      backward.unshift(...page.events)
      if (page.next === undefined) break
      page = await session.history(page.next)
    }
    expect(backward).toEqual(all)
    expect((await session.history({ from: 10, through: 12 })).events).toEqual(all.slice(10, 13))
    expect(await codeOf(() => session.log.at(0))).toBe('NOT_LOADED')
    expect(await codeOf(() => [...session.log.range(0)])).toBe('NOT_LOADED')
    expect(await codeOf(() => session.history({ through: session.log.length }))).toBe('INVALID_SEQ')
    expect(await codeOf(() => session.history({ countMax: 10_001 }))).toBe('INVALID_SEQ')
  })

  it('G36: a bracket and a projection that come too late are not loaded, until they have caught up', async () => {
    const root = scratch()
    const first = await start({ enabled: true, root, flushDelayMs: 5, ...small })
    first.ctx.sessions.define(plugin)
    const session = await first.ctx.sessionPersistence.create({ id: 'a' })
    await talked(session, 3_000, 3)
    const truth = derived(session)
    expect(truth.open.length).toBeGreaterThan(0)
    await stop(first)

    // The next host does not know the plugin: what it owns is carried, and so are the states in the snapshot.
    const second = await start({ enabled: true, root, flushDelayMs: 5, ...small })
    const carry = ['work/start', 'work/end']
    const carried = await second.ctx.sessionPersistence.resume('a', { carry })
    expect(carried.log.base).toBeGreaterThan(0)
    while (carried.log.length < 6_000) {
      const name = 'chatter'
      for (let turn = 0; turn < 50; turn++) {
        carried.append('turn/start', {})
        carried.append('turn/end', { reason: 'completed', meta: { name } })
      }
      await carried.flush()
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect(carried.log.base).toBeGreaterThan(3_000)
    second.ctx.sessions.define(plugin)
    const dates = { ...tally, version: 2 }
    expect(await codeOf(() => carried.read(tally))).toBe('NOT_LOADED')
    expect(await codeOf(() => carried.open(work))).toBe('NOT_LOADED')
    expect(await codeOf(() => carried.append('work/start', { name: 'late' }))).toBe('NOT_LOADED')
    expect(carried.append('turn/start', {}).type).toBe('turn/start')
    await Promise.all([carried.load(work), carried.load(tally), carried.load(tally), carried.load(dates)])
    expect(carried.read(tally)['turn/start']).toBe(carried.read(dates)['turn/start'])
    expect(Object.values(carried.read(tally)).reduce((sum, count) => sum + count)).toBe(carried.log.length)
    const orphaned = truth.open.map((each) => ({ ...each, status: 'orphaned' }))
    // The plugin shows nothing of its events to the model, so that nothing of the transcript is missing.
    const whole = second.ctx.sessions.view(carried.header, plain(await wholeHistory(carried)) as [])
    expect(plain(carried.messages())).toEqual(plain(whole.messages()))
    expect(derived(carried).open).toEqual(orphaned)
    carried.append('work/start', { name: 'late' })
    expect(derived(carried).open).toHaveLength(orphaned.length + 1)
    await stop(second)
  })

  it('a plugin that is loaded again does not unload what was folded with it', async () => {
    const root = scratch()
    const { ctx } = await start({ enabled: true, root, flushDelayMs: 5, ...small })
    const undefine = ctx.sessions.define(plugin)
    const session = await ctx.sessionPersistence.create({ id: 'a' })
    await talked(session, 3_000, 6)
    expect(session.log.base).toBeGreaterThan(0)
    undefine()
    ctx.sessions.define(plugin)
    expect(session.messages().length).toBeGreaterThan(0)
    expect(session.open(work).filter(({ status }) => status === 'live')).toEqual([])
  })

  it('a fork is cut anywhere, and derives what a fork of everything would', async () => {
    const ctx = await host(scratch())
    const session = await ctx.sessionPersistence.create({ id: 'a' })
    await talked(session, 3_000, 7)
    const whole = await wholeOf(session)
    const { length, base } = session.log
    for (const through of [5, 1_500, base - 1, base, base + 10, length - 1]) {
      const child = await ctx.sessionPersistence.fork(session, { through })
      const twin = whole.ctx.sessions.fork(whole.session, { through })
      expect(plain(derived(child))).toEqual(plain(derived(twin)))
      expect((await wholeHistory(child)).length).toBe(through + 2)
    }
    expect(await codeOf(() => session.seed(5))).toBe('NOT_LOADED')
  })

  it('keeps two snapshots, none of them readable by others', async () => {
    const root = scratch()
    const ctx = await host(root)
    const session = await ctx.sessionPersistence.create({ id: 'a' })
    await talked(session, 3_000, 5)
    await ctx.sessions.dispose(session)
    const names = readdirSync(folderOf(root, 'a')).filter((name) => name.startsWith('snapshot-'))
    expect(names).toHaveLength(2)
  })
})

describe('the bounds of a window in bytes', () => {
  const events = 3_000
  const text = 'lorem '.repeat(80)

  /** Turns that say nothing to the model: the states do not grow with them. */
  async function turned(session: Session): Promise<void> {
    while (session.log.length < events) {
      for (let turns = 0; turns < 10; turns++) {
        session.append('turn/start', {})
        session.append('turn/end', { reason: 'completed', meta: { text } })
      }
      await session.flush()
      await new Promise((resolve) => setImmediate(resolve))
    }
  }

  it('retainSizeBytes keeps so many bytes of the newest events, however many events may stay', async () => {
    const retainSizeBytes = 100_000
    const config = { snapshotEvents: 100, snapshotSizeBytes: 1e9, retainEvents: 1e6, retainSizeBytes }
    const ctx = await startJournal(scratch(), config)
    const session = await ctx.sessionPersistence.create({ id: 'a' })
    await turned(session)
    const held = [...session.log.range(session.log.base)]
    const heldSizeBytes = held.reduce((sum, event) => sum + JSON.stringify(event).length + 1, 0)
    expect(heldSizeBytes).toBeGreaterThan(retainSizeBytes)
    // With what came since the last snapshot, and while one was written.
    expect(heldSizeBytes).toBeLessThan(retainSizeBytes * 5)
    expect(reported(ctx)).toEqual([])
  })

  it('snapshotSizeBytes takes a snapshot each time so many came, however few events they are', async () => {
    const root = scratch()
    const config = { snapshotEvents: 1e6, snapshotSizeBytes: 100_000, retainEvents: 0 }
    const ctx = await startJournal(root, config)
    const session = await ctx.sessionPersistence.create({ id: 'a' })
    await turned(session)
    const names = readdirSync(folderOf(root, 'a')).filter((name) => /^snapshot-\d/.test(name))
    expect(names.length).toBeGreaterThanOrEqual(2)
    expect(session.log.length - session.log.base).toBeLessThan(1_500)
    expect(reported(ctx)).toEqual([])
  })
})
