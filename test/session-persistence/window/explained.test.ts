import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { defineBracket, type Definitions, type Session, type SessionView } from '@tidemark/session-core'
import { defineProjection, type EventDefinition, type Projection } from '@tidemark/session-core'
import type { Context } from 'cordis'
import { beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { folderOf } from '../files.ts'
import { reported, say, start, stop, type Started } from '../host.ts'
import { codeOf } from '../refusal.ts'
import { scratch } from '../scratch.ts'
import { wholeHistory } from './told.ts'

const any = { schema: z.any() }
const plain = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T

/** Shows its events to the model. */
const shown: EventDefinition = {
  ...any,
  ignorable: true,
  message: ({ data }) => ({
    role: 'user',
    parts: [{ type: 'text', text: `NOTE ${nOf(data)}`, author: 'file' }],
  }),
}
const nOf = (data: unknown): string => String((data as { n: number }).n)

const notes: Definitions = { owner: 'p', events: { 'p/note': shown } }
const silentNotes: Definitions = { owner: 'p', events: { 'p/note': { ...any, ignorable: true } } }
const requiredNotes: Definitions = {
  owner: 'p',
  events: { 'p/note': { schema: z.any(), message: shown.message! } },
}

/** Which types somebody explained when their events came: it asks the vocabulary as a plugin may. */
const explained: Projection<Readonly<Record<string, boolean>>> = defineProjection({
  name: 'explained',
  version: 1,
  init: () => ({}),
  apply: (state, { type }, { event }) => ({ ...state, [type]: event(type) !== undefined }),
})

let root: string
beforeEach(() => {
  root = scratch()
})

async function host(definitions?: Definitions, config = {}): Promise<Started> {
  const started = await start({ enabled: true, root, flushDelayMs: 1, ...config })
  if (definitions) started.ctx.sessions.define(definitions)
  return started
}

/** Notes of this session, by the number that they bear. */
const notesIn = (view: SessionView): string[] =>
  view
    .messages()
    .flatMap(({ parts }) => parts.flatMap((part) => ('text' in part ? [part.text] : [])))
    .filter((text) => text.startsWith('NOTE '))

const note = (session: Session, n: number): unknown =>
  session.append('p/note', { n, filler: 'x'.repeat(400) }, { ignorable: true })

const chatter = (session: Session, count: number): void => {
  for (let index = 0; index < count; index++) say(session, 'x'.repeat(300))
}

const snapshotsIn = (id: string): string[] =>
  readdirSync(folderOf(root, id)).filter((name) => name.startsWith('snapshot-'))

const epochsOf = (id: string): number =>
  new Set(
    readdirSync(folderOf(root, id))
      .filter((name) => name.endsWith('.jsonl'))
      .map((name) => name.split('-')[0]),
  ).size

/** What a fold of all events derives with the vocabulary that there is. */
async function naive(ctx: Context, view: SessionView): Promise<unknown> {
  return plain(ctx.sessions.view(view.header, plain(await wholeHistory(view))).messages())
}

async function expectNaive(ctx: Context, view: SessionView): Promise<void> {
  expect(plain(view.messages())).toEqual(await naive(ctx, view))
}

/** One note by a host that knows the plugin, then a long life and a snapshot under one that does not. */
async function snapshotWithout(by: Definitions | undefined, carry: string[] = []): Promise<void> {
  const first = await host(by)
  const session = await first.ctx.sessionPersistence.create({ id: 'a' })
  session.append('turn/start', {})
  if (by === requiredNotes) (session.append as (type: string, data: object) => unknown)('p/note', { n: 1 })
  else note(session, 1)
  await session.flush()
  await stop(first)
  const second = await host()
  const resumed = await second.ctx.sessionPersistence.resume('a', { carry })
  chatter(resumed, 700)
  await resumed.flush()
  await stop(second)
  expect(snapshotsIn('a')).toHaveLength(1)
}

describe('a type that a snapshot was folded without', () => {
  it.each([
    ['ignorable, of a plugin that comes back', notes, []],
    ['required and carried', requiredNotes, ['p/note']],
    ['ignorable, and nobody knew it before', undefined, []],
  ] as const)(
    'G36: %s: once it is explained, the session is resumed, inspected and forked',
    async (_, by, carry) => {
      await snapshotWithout(by, [...carry])
      const { ctx } = await host(by ?? notes)
      const inspected = await ctx.sessionPersistence.inspect('a')
      expect(notesIn(inspected)).toEqual(['NOTE 1'])
      const child = await ctx.sessionPersistence.fork('a', { id: 'child' })
      expect(notesIn(child)).toEqual(['NOTE 1'])
      const resumed = await ctx.sessionPersistence.resume('a')
      expect(notesIn(resumed)).toEqual(['NOTE 1'])
      for (const view of [inspected, child, resumed]) await expectNaive(ctx, view)
      say(resumed, 'more')
      await ctx.sessions.dispose(resumed)
      const again = await ctx.sessionPersistence.resume('a')
      expect(again.log.base).toBeGreaterThan(0)
      await expectNaive(ctx, again)
      expect(reported(ctx)).toEqual([])
    },
  )

  it('G37: one that shows nothing to the model costs no snapshot', async () => {
    await snapshotWithout(silentNotes)
    const { ctx } = await host(silentNotes)
    const resumed = await ctx.sessionPersistence.resume('a')
    expect(resumed.log.base).toBeGreaterThan(0)
    await expectNaive(ctx, resumed)
  })

  it('G36: a plugin that comes late into a living session: it is forked, closed and resumed', async () => {
    await snapshotWithout(notes)
    const { ctx } = await host()
    const session = await ctx.sessionPersistence.resume('a')
    expect(session.log.base).toBeGreaterThan(0)
    ctx.sessions.define(notes)
    expect(await codeOf(() => session.messages())).toBe('NOT_LOADED')
    say(session, 'more')
    const early = await ctx.sessionPersistence.fork(session, { id: 'early' })
    await expectNaive(ctx, early)
    await session.loadAll()
    await expectNaive(ctx, session)
    const late = await ctx.sessionPersistence.fork(session, { id: 'late', through: 300 })
    await expectNaive(ctx, late)
    await ctx.sessions.dispose(session)
    const resumed = await ctx.sessionPersistence.resume('a')
    expect(notesIn(resumed)).toEqual(['NOTE 1'])
    await expectNaive(ctx, resumed)
  })

  it('G36: a plugin that comes while the session is claimed finds it loaded', async () => {
    await snapshotWithout(notes)
    const { ctx } = await host()
    const storage = ctx.sessionStorage
    const acquire = storage.acquire.bind(storage)
    storage.acquire = async (id, terms) => {
      const lease = await acquire(id, terms)
      ctx.sessions.define(notes)
      return lease
    }
    const resumed = await ctx.sessionPersistence.resume('a')
    expect(notesIn(resumed)).toEqual(['NOTE 1'])
    await expectNaive(ctx, resumed)
  })

  it('G36: an older snapshot that fits is begun with', async () => {
    const first = await host(notes, { snapshotEvents: 300 })
    const session = await first.ctx.sessionPersistence.create({ id: 'a' })
    chatter(session, 600)
    await stop(first)
    expect(snapshotsIn('a')).toHaveLength(1)
    const second = await host()
    const resumed = await second.ctx.sessionPersistence.resume('a')
    note(resumed, 1)
    chatter(resumed, 600)
    await resumed.flush()
    await stop(second)
    expect(snapshotsIn('a')).toHaveLength(2)
    const { ctx } = await host(notes)
    const view = await ctx.sessionPersistence.inspect('a')
    expect(view.log.base).toBeGreaterThan(0)
    expect(view.log.base).toBeLessThan(600)
    expect(notesIn(view)).toEqual(['NOTE 1'])
    await expectNaive(ctx, view)
  })
})

describe('a type that a snapshot was folded with', () => {
  async function snapshotWith(): Promise<void> {
    const first = await host(notes)
    const session = await first.ctx.sessionPersistence.create({ id: 'a' })
    for (let n = 0; n < 300; n++) note(session, n)
    await stop(first)
    expect(snapshotsIn('a')).toHaveLength(1)
    const second = await host(notes)
    const resumed = await second.ctx.sessionPersistence.resume('a')
    for (let n = 300; n < 310; n++) note(resumed, n)
    expect(notesIn(resumed)).toHaveLength(310)
    await stop(second)
  }

  it('G9, G36, G37: once nobody explains it, all is derived as without the snapshot', async () => {
    await snapshotWith()
    const { ctx } = await host()
    const inspected = await ctx.sessionPersistence.inspect('a')
    const child = await ctx.sessionPersistence.fork('a', { id: 'child' })
    const resumed = await ctx.sessionPersistence.resume('a')
    for (const view of [inspected, child, resumed]) {
      expect(notesIn(view)).toEqual([])
      await expectNaive(ctx, view)
    }
    chatter(resumed, 700)
    await resumed.flush()
    await ctx.sessions.dispose(resumed)
    const back = await host(notes)
    const again = await back.ctx.sessionPersistence.inspect('a')
    expect(notesIn(again)).toHaveLength(310)
    await expectNaive(back.ctx, again)
    for (const name of snapshotsIn('a')) rmSync(join(folderOf(root, 'a'), name))
    const bare = await back.ctx.sessionPersistence.inspect('a')
    expect(plain(bare.messages())).toEqual(plain(again.messages()))
  })

  it('G9: nor is it used where the type means something else to the model than it did', async () => {
    await snapshotWith()
    const { ctx } = await host(silentNotes)
    const view = await ctx.sessionPersistence.inspect('a')
    expect(notesIn(view)).toEqual([])
    await expectNaive(ctx, view)
  })

  it('G37: with the plugin there, the snapshot is what is read', async () => {
    await snapshotWith()
    const { ctx } = await host(notes)
    const { log } = await ctx.sessionPersistence.inspect('a')
    expect(log.base).toBe(0) // so small a log is read whole for its events, and not for its states
    const session = await ctx.sessionPersistence.resume('a')
    chatter(session, 700)
    await ctx.sessions.dispose(session)
    expect((await ctx.sessionPersistence.inspect('a')).log.base).toBeGreaterThan(0)
  })

  it('G36: a plugin that leaves a living session: what is stored then is read as a host without it reads it', async () => {
    const first = await host()
    const { ctx } = first
    const undo = ctx.sessions.define(notes)
    const session = await ctx.sessionPersistence.create({ id: 'a' })
    for (let n = 0; n < 200; n++) note(session, n)
    undo()
    for (let n = 200; n < 400; n++) note(session, n)
    expect(notesIn(session)).toHaveLength(200)
    await stop(first)
    expect(snapshotsIn('a')).toHaveLength(1)
    const second = await host()
    const without = await second.ctx.sessionPersistence.inspect('a')
    expect(notesIn(without)).toEqual([])
    await expectNaive(second.ctx, without)
    const third = await host(notes)
    const withIt = await third.ctx.sessionPersistence.inspect('a')
    expect(notesIn(withIt)).toHaveLength(400)
    await expectNaive(third.ctx, withIt)
  })

  it('G36: a projection that asks the vocabulary is folded anew, and one that does not keeps its state', async () => {
    const count = defineProjection({
      name: 'count',
      version: 1,
      init: () => 0,
      apply: (state: number) => state + 1,
    })
    const asking: Definitions = { owner: 'q', projections: [explained, count] }
    const first = await host(silentNotes)
    first.ctx.sessions.define(asking)
    const session = await first.ctx.sessionPersistence.create({ id: 'a' })
    note(session, 1)
    chatter(session, 700)
    await stop(first)
    const { ctx } = await host(asking)
    const view = await ctx.sessionPersistence.inspect('a')
    expect(view.log.base).toBeGreaterThan(0)
    expect(view.read(count)).toBe(view.log.length)
    expect(await codeOf(() => view.read(explained))).toBe('NOT_LOADED')
    await view.load(explained)
    expect(view.read(explained)).toEqual({ 'p/note': false, 'user/message': true })
  })

  it('G9: a bracket that replaces what the model sees is followed as it is defined', async () => {
    const part = (text: string) => [{ type: 'text' as const, text, author: 'file' as const }]
    const fold = defineBracket({
      name: 'fold',
      open: 'p/open' as never,
      close: 'p/close' as never,
      scope: 'session',
    })
    const close: EventDefinition = {
      ...any,
      replaces: () => ({ from: 0, through: 0, messages: [{ role: 'user', parts: part('FOLDED') }] }),
    }
    const folding: Definitions = {
      owner: 'p',
      events: { 'p/open': { ...any, ignorable: true }, 'p/close': close },
      brackets: [fold],
    }
    const first = await host(folding)
    const session = await first.ctx.sessionPersistence.create({ id: 'a' })
    say(session, 'first')
    session.append('p/open', {}, { ignorable: true })
    chatter(session, 700)
    await stop(first)
    const second = await host()
    const resumed = await second.ctx.sessionPersistence.resume('a')
    await expectNaive(second.ctx, resumed)
    await second.ctx.sessions.dispose(resumed)
    const third = await host(folding)
    await expectNaive(third.ctx, await third.ctx.sessionPersistence.inspect('a'))
  })
})

it('G20: a resume that is refused for what it read spends no epoch', async () => {
  await snapshotWithout(notes)
  const before = epochsOf('a')
  const { ctx } = await host()
  const { sessions } = ctx
  const find = sessions.replay.bind(sessions)
  // Whatever the states that were read lack: it is noticed before anything is claimed.
  sessions.replay = (header, options) => {
    const replay = find(header, options)
    const refuse = (): never => {
      throw new TypeError('not to be seeded')
    }
    Object.defineProperty(replay.view, 'seed', { value: refuse })
    return replay
  }
  await expect(ctx.sessionPersistence.resume('a')).rejects.toThrow(TypeError)
  await expect(ctx.sessionPersistence.fork('a', { id: 'child' })).rejects.toThrow(TypeError)
  expect(epochsOf('a')).toBe(before)
  expect(readdirSync(join(root, 'sessions'))).toHaveLength(1)
})
