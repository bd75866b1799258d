import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as compaction from '@tidemark/compaction'
import type {} from '@tidemark/compaction/cordis'
import type { Handle } from '@tidemark/session-continuity'
import type {} from '@tidemark/session-continuity/cordis'
import * as core from '@tidemark/session-core'
import type { Session, SessionHeader } from '@tidemark/session-core'
import type {} from '@tidemark/session-core/cordis'
import * as persistence from '@tidemark/session-persistence'
import type {} from '@tidemark/session-persistence/cordis'
import { Context, type Fiber } from 'cordis'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { scratch } from './scratch.ts'
import { Config, fileStoreOf, Sessions, provideContinuity, rules, type Rules } from './source.ts'
import { allOperations, credential, isNoticed, trusting } from './world.ts'

const fibers: Fiber[] = []
afterEach(stop)

async function stop(): Promise<void> {
  for (const fiber of fibers.splice(0).reverse()) await fiber.dispose()
}

let base: string
beforeEach(() => {
  base = scratch()
})

interface Started {
  readonly ctx: Context
  readonly guard: Fiber
}

async function start(weakened: Partial<Rules> = {}, labels?: string[]): Promise<Started> {
  const ctx = new Context()
  fibers.push(await ctx.plugin(core))
  const stored = { enabled: true, root: join(base, 'sessions'), authorize: 'required' } as const
  fibers.push(await ctx.plugin(persistence, stored))
  const settings = Config.parse({
    root: join(base, 'root'),
    witness: join(base, 'witness'),
    authenticators: [trusting],
    grants: () => ({ operations: [...allOperations, 'session/salvage', 'session/repair'] }),
    ...(labels && { labels }),
  })
  const apply = (inner: Context): void => {
    const store = fileStoreOf(settings)!
    provideContinuity(inner, settings, { store, rules: { ...rules, ...weakened } })
  }
  const guard = await ctx.plugin({ name: 'guard', apply })
  fibers.push(guard)
  return { ctx, guard }
}

const open = (ctx: Context, mode: 'begin' | 'resume', more: object = {}): Promise<Handle> =>
  ctx.continuity.open({ mode, credential: credential('alice', more), scope: 's' })

function say(session: Session, text: string): void {
  session.append('user/message', { parts: [{ type: 'text', text, author: 'human' }] })
}

const isRaised = ({ type }: { readonly type: string }): boolean => type === 'label/raised'

interface Place {
  readonly ctx: Context
  /** At the floor, after a reset: nothing but the session itself knows its label. */
  readonly as: Handle
  /** Two messages; its label was raised between them. */
  readonly source: Session
  /** The same, stored, and not living. */
  readonly stored: string
  readonly guard: Fiber
}

/** Sessions that became secret, in a scope that was reset since. */
async function place(weakened: Partial<Rules> = {}): Promise<Place> {
  const { ctx, guard } = await start(weakened)
  const secret = await open(ctx, 'begin')
  const [source, stored] = await Promise.all(
    ['source', 'stored'].map((id) =>
      ctx.sessionPersistence.create({ id, as: secret, meta: secret.sessionMeta }),
    ),
  )
  for (const session of [source!, stored!]) {
    say(session, 'before')
    await ctx.sessions.flush(session)
  }
  await secret.raise('secret')
  for (const session of [source!, stored!]) {
    // A weakened rule raises nothing: there it is raised by hand.
    if (![...session.log].some(isRaised)) session.append('label/raised', { label: 'secret' })
    say(session, 'after')
    await ctx.sessions.flush(session)
  }
  await ctx.sessions.dispose(stored!)
  const as = await secret.reset({ reason: 'the next job' })
  expect(as.sensitivity).toBe('public')
  // The reset ended it.
  const resumed = await ctx.sessionPersistence.resume(source!.id, { as })
  return { ctx, as, source: resumed, stored: 'stored', guard }
}

/** Ways to make a session, by the public method that is on the way. Each is cut before the label was raised. */
type Way = (place: Place) => Session | Promise<Session>
/** Or why the method makes none. */
type Ways = Readonly<Record<string, Readonly<Record<string, Way>> | string>>

const names = ({ as }: Place) => ({ id: 'child', as, meta: as.sessionMeta })

/** The segments of the stored session, changed by hand. */
function edit(change: (text: string) => string): void {
  const root = join(base, 'sessions')
  const paths = readdirSync(root, { recursive: true, encoding: 'utf8' }).map((path) => join(root, path))
  const segments = paths.filter((path) => path.includes('stored') && path.endsWith('.jsonl'))
  expect(segments.length).toBeGreaterThan(0)
  for (const path of segments) writeFileSync(path, change(readFileSync(path, 'utf8')))
}

const inSessions: Ways = {
  create: {
    'under a handle': async (at) => {
      await at.as.raise('secret')
      return at.ctx.sessions.create({ meta: at.as.sessionMeta })
    },
    'with a part of a session': ({ ctx, source }) => ctx.sessions.create({ seed: source.seed(0) }),
    'with all of its events': ({ ctx, source }) => ctx.sessions.create({ seed: [...source.log] }),
    'with some of its events, under its header': ({ ctx, source }) => {
      const header = ctx.sessions.forkHeader(source.header, 0)
      return ctx.sessions.create({ header, seed: source.log.range(0, 0) })
    },
    'with some of the events of one that is not there': ({ ctx, source }) => {
      const header = ctx.sessions.forkHeader({ ...source.header, id: 'elsewhere' }, 0)
      return ctx.sessions.create({ header, seed: source.log.range(0, 0) })
    },
  },
  fork: {
    'before it was raised': ({ ctx, source }) => ctx.sessions.fork(source, { through: 0 }),
    'after it was raised': ({ ctx, source }) => ctx.sessions.fork(source),
    'of a fork': ({ ctx, source }) =>
      ctx.sessions.fork(ctx.sessions.fork(source, { through: 0 }), { through: 0 }),
    'of one that is over': async ({ ctx, source }) => {
      await ctx.sessions.dispose(source)
      return ctx.sessions.fork(source, { through: 0 })
    },
  },
  view: {
    'and then a session of it': ({ ctx, source }) =>
      ctx.sessions.create({ seed: ctx.sessions.view(source.header, source.log).seed(0) }),
  },
  replay: {
    'and then a session of it': ({ ctx, source }) => {
      const replay = ctx.sessions.replay(source.header, { isPart: true })
      replay.push(source.log.range(0, 0))
      return ctx.sessions.create({ seed: replay.view.seed() })
    },
  },
  newHeader: 'a header; what is made under it, `create` makes',
  forkHeader: 'a header; what is made under it, `create` makes',
  find: 'finds a session that was made',
  isOwnedBy: 'says whose a session is',
  flush: 'writes what a session holds',
  dispose: 'ends a session',
  disposeAll: 'ends all sessions',
  define: 'adds to the vocabulary',
  tellDurable: 'tells the bus',
  tellRecovered: 'tells the bus',
  refuseInactive: 'private, and refuses',
  end: 'private, and ends a session',
  endOnce: 'private, and ends a session',
}

const inPersistence: Ways = {
  create: {
    'under a handle': async (at) => {
      await at.as.raise('secret')
      return at.ctx.sessionPersistence.create(names(at))
    },
  },
  resume: {
    'of one that was raised': ({ ctx, as, stored }) => ctx.sessionPersistence.resume(stored, { as }),
    'of one that lost the end of its log to an operator': async ({ ctx, as, stored }) => {
      edit((text) => text.replace('"label":"secret"', '"label":"public"'))
      await ctx.sessionPersistence.repair(stored, { as, acceptLossAfter: 0 })
      return ctx.sessionPersistence.resume(stored, { as })
    },
    'of a fork that a crash cut short': async ({ ctx, as, source }) => {
      const header = ctx.sessions.forkHeader(source.header, 0, names({ as } as Place))
      const claim = { incarnation: 'of one that died', enabledBy: 'config' } as const
      const lease = await ctx.sessionStorage.fork({ id: source.id, through: 0 }, header, claim)
      await lease.release()
      return ctx.sessionPersistence.resume('child', { as })
    },
    'of a fork that a crash cut short, and whose source is gone': async ({ ctx, as, stored, source }) => {
      const header = ctx.sessions.forkHeader({ ...source.header, id: stored }, 0, names({ as } as Place))
      const claim = { incarnation: 'of one that died', enabledBy: 'config' } as const
      const lease = await ctx.sessionStorage.fork({ id: stored, through: 0 }, header, claim)
      await lease.release()
      await ctx.sessionPersistence.remove(stored, { as })
      return ctx.sessionPersistence.resume('child', { as })
    },
  },
  fork: {
    'of a living one, before it was raised': (at) =>
      at.ctx.sessionPersistence.fork(at.source, { ...names(at), through: 0 }),
    'of a living one by its id': (at) =>
      at.ctx.sessionPersistence.fork(at.source.id, { ...names(at), through: 0 }),
    'of a living one, after it was raised': (at) => at.ctx.sessionPersistence.fork(at.source, names(at)),
    'of a stored one, before it was raised': (at) =>
      at.ctx.sessionPersistence.fork(at.stored, { ...names(at), through: 0 }),
    'of a stored one, after it was raised': (at) => at.ctx.sessionPersistence.fork(at.stored, names(at)),
    'of a stored one, before damage to what raised it': (at) => {
      edit((text) => text.replace('"label":"secret"', '"label":"public"'))
      return at.ctx.sessionPersistence.fork(at.stored, { ...names(at), through: 0 })
    },
    'into a child that is forked again, and resumed': async (at) => {
      const { ctx, as } = at
      await ctx.sessions.dispose(await ctx.sessionPersistence.fork(at.stored, { ...names(at), through: 0 }))
      const next = { ...names(at), id: 'grandchild', through: 0 }
      await ctx.sessions.dispose(await ctx.sessionPersistence.fork('child', next))
      return ctx.sessionPersistence.resume('grandchild', { as })
    },
  },
  inspect: {
    'in part, and then a session of it': async ({ ctx, as, stored }) => {
      const view = await ctx.sessionPersistence.inspect(stored, { as, through: 0 })
      return ctx.sessions.create({ seed: view.seed() })
    },
  },
  salvage: {
    'of one that lost what raised it': async (at) => {
      edit((text) => text.replace('"label/raised"', '"label/gone"'))
      await at.ctx.sessionPersistence.salvage(at.stored, names(at))
      return at.ctx.sessionPersistence.resume('child', { as: at.as })
    },
  },
  history: 'events, with which `create` makes a session',
  follow: 'events, with which `create` makes a session',
  list: 'headers',
  verify: 'a verdict',
  repair: 'changes a stored session, which `resume` opens',
  remove: 'ends a stored session',
  enabled: 'private: the part that is on',
  sessions: 'private: the service of core',
}

const services: readonly [string, object, Ways][] = [
  ['Sessions', Sessions.prototype, inSessions],
  ['Persistence', persistence.Persistence.prototype, inPersistence],
]

const ways = services.flatMap(([service, , all]) =>
  Object.entries(all).flatMap(([method, found]) =>
    Object.entries(typeof found === 'string' ? {} : found).map(([how, way]): [string, Way] => [
      `${service}.${method}, ${how}`,
      way,
    ]),
  ),
)

describe('every way to make a session', () => {
  it.each(services)(
    'G44: %s has no method of which nobody said whether it makes sessions',
    (_, prototype, all) => {
      const methods = Object.getOwnPropertyNames(prototype).filter((each) => each !== 'constructor')
      expect(Object.keys(all).sort()).toEqual(methods.sort())
    },
  )

  const carries = async (way: Way, weakened: Partial<Rules> = {}): Promise<void> => {
    const at = await place(weakened)
    const session = await way(at)
    expect(at.ctx.continuity.labelOf(session)).toBe('secret')
    say(session, 'more')
    await at.ctx.sessions.flush(session)
    await stop()
    if (session.kind === 'memory') return
    const { ctx } = await start(weakened)
    const as = await open(ctx, 'resume', { authenticatedAt: Date.now() })
    expect(ctx.continuity.labelOf(await ctx.sessionPersistence.inspect(session.id, { as }))).toBe('secret')
  }

  it.each(ways)('G44: carries the label that its source has now (H08): %s', (_, way) => carries(way))

  const byHistory = ['with all of its events', 'after it was raised']
  const guarded = Object.values(inSessions)
    .flatMap((found) => (typeof found === 'string' ? [] : Object.entries(found)))
    .filter(([how]) => !byHistory.includes(how))

  it.each(guarded)('without the rule that it carries the label is noticed to be gone: %s', async (_, way) => {
    expect(await isNoticed(() => carries(way, { labelToRaise: () => undefined }))).toBe(true)
  })
})

describe('a session follows its handle', () => {
  it('a raise stands in the log of every living session of the scope before it is acknowledged', async () => {
    const { ctx } = await start()
    const as = await open(ctx, 'begin')
    const stored = await ctx.sessionPersistence.create({ id: 'one', as, meta: as.sessionMeta })
    const memory = ctx.sessions.create({ meta: as.sessionMeta })
    const stranger = ctx.sessions.create({ id: 'of nobody' })
    await as.raise('internal')
    await as.raise('internal')
    await as.raise('secret')
    for (const session of [stored, memory])
      expect([...session.log].filter(isRaised).map(({ data }) => data)).toEqual([
        { label: 'internal' },
        { label: 'secret' },
      ])
    expect(stranger.log.length).toBe(0)
    expect(ctx.continuity.labelOf(stranger)).toBe('public')
  })

  it('what another instance raised reaches the sessions of this one with the next write', async () => {
    const { ctx } = await start()
    const as = await open(ctx, 'begin')
    const session = await ctx.sessionPersistence.create({ id: 'one', as, meta: as.sessionMeta })
    const settings = Config.parse({
      root: join(base, 'root'),
      witness: join(base, 'witness'),
      authenticators: [trusting],
      grants: () => ({ operations: allOperations }),
    })
    const other = new Context()
    const apply = (inner: Context): void => {
      provideContinuity(inner, settings, { store: fileStoreOf(settings)! })
    }
    fibers.push(await other.plugin({ name: 'other', apply }))
    await (await open(other, 'resume')).raise('secret')
    say(session, 'anything')
    await ctx.sessions.flush(session)
    expect(ctx.continuity.labelOf(session)).toBe('secret')
  })

  it('a session that is resumed under a higher handle is raised to it, once', async () => {
    const { ctx } = await start()
    const as = await open(ctx, 'begin')
    await ctx.sessions.dispose(await ctx.sessionPersistence.create({ id: 'one', as, meta: as.sessionMeta }))
    await as.raise('secret')
    for (let round = 0; round < 3; round++) {
      const session = await ctx.sessionPersistence.resume('one', { as })
      expect([...session.log].filter(isRaised).length).toBe(1)
      await ctx.sessions.dispose(session)
    }
  })

  it('a raise that fails raises the living sessions all the same', async () => {
    const { ctx } = await start()
    const as = await open(ctx, 'begin')
    const session = ctx.sessions.create({ meta: as.sessionMeta })
    await expect(as.raise('cosmic')).rejects.toMatchObject({ code: 'UNSUPPORTED_FORMAT' })
    expect(ctx.continuity.labelOf(session)).toBe('secret')
  })

  it('a session that does not take the label takes nothing any more', async () => {
    const { ctx } = await start()
    const as = await open(ctx, 'begin')
    const refuse = (): never => {
      throw new core.SessionError('BACK_PRESSURE', 'full')
    }
    const recorder = { durableSeq: -1, admit: refuse, flush: async () => {}, close: async () => {} }
    const session = ctx.sessions.create({ meta: as.sessionMeta, recorder })
    await as.raise('secret')
    expect(() => say(session, 'more')).toThrow(expect.objectContaining({ code: 'DISPOSED' }))
  })

  it('sessions that were there before their handle are raised when it is opened', async () => {
    const { ctx } = await start()
    const first = await open(ctx, 'begin')
    await first.raise('secret')
    const { sessionMeta } = first
    await first.close()
    const session = ctx.sessions.create({ meta: sessionMeta })
    expect(ctx.continuity.labelOf(session)).toBe('public')
    await open(ctx, 'resume')
    expect(ctx.continuity.labelOf(session)).toBe('secret')
  })
})

describe('the label of a session', () => {
  it('G44: no event lowers it (H08), and none names a label that is not configured', async () => {
    const { ctx, source } = await place()
    source.append('label/raised', { label: 'public' })
    expect(ctx.continuity.labelOf(source)).toBe('secret')
    expect(() => source.append('label/raised', { label: 'cosmic' })).toThrow(
      expect.objectContaining({ code: 'INVALID_EVENT' }),
    )
  })

  it('H08: a compaction keeps it, and so does what is forked from the compacted session', async () => {
    const { ctx, source } = await place()
    fibers.push(await ctx.plugin(compaction, {}))
    for (let turn = 0; turn < 40; turn++) {
      source.append('turn/start', {})
      say(source, `turn ${turn}: ${'word '.repeat(200)}`)
      source.append('turn/end', { reason: 'completed' })
    }
    expect(await ctx.compaction.compact(source)).toMatchObject({ outcome: 'applied' })
    expect(ctx.continuity.labelOf(source)).toBe('secret')
    expect(ctx.continuity.labelOf(ctx.sessions.fork(source, { through: 0 }))).toBe('secret')
  })

  it('G44: is required: a host without continuity does not go on with such a session', async () => {
    const { ctx, guard, source } = await place()
    await guard.dispose()
    expect(() => ctx.sessions.fork(source)).toThrow(expect.objectContaining({ code: 'UNKNOWN_TYPE' }))
  })

  it('that the configuration does not name any more is refused, and a fork of it is under the highest', async () => {
    const { source } = await place()
    const header: SessionHeader = { id: 'old', createdAt: 0 }
    const events = [...source.log]
    await stop()
    const { ctx } = await start({}, ['green', 'red'])
    const old = ctx.sessions.view(header, events)
    expect(() => ctx.continuity.labelOf(old)).toThrow(expect.objectContaining({ code: 'UNSUPPORTED_FORMAT' }))
    const child = ctx.sessions.create({ seed: old.seed(0) })
    expect(ctx.continuity.labelOf(child)).toBe('red')
  })

  it('of a part of a session is not told', async () => {
    const { ctx, as, stored } = await place()
    const part = await ctx.sessionPersistence.inspect(stored, { as, through: 0 })
    expect(() => ctx.continuity.labelOf(part)).toThrow(expect.objectContaining({ code: 'NOT_LOADED' }))
  })

  it('of history that is no such event is not told, and a fork of it is under the highest', async () => {
    const { ctx } = await start()
    const broken = [{ seq: 0, time: 0, type: 'label/raised', data: { label: 7 } }]
    const view = ctx.sessions.view({ id: 'broken', createdAt: 0 }, broken)
    expect(() => ctx.continuity.labelOf(view)).toThrow(expect.objectContaining({ code: 'PROJECTION_FAILED' }))
    const events = [...view.log]
    expect([...ctx.sessions.create({ seed: view.seed(0) }).log].slice(1).map(({ data }) => data)).toEqual([
      {},
      { label: 'secret' },
    ])
    expect(events.length).toBe(1)
  })
})
