import type { AnySessionEvent, JsonValue, Session, Sessions } from '@tidemark/session-core'
import type { Context } from 'cordis'
import { beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { isDeepFrozen } from './frozen.ts'
import { define, load, startHost } from './host.ts'
import { guestDefinitions } from './guest.ts'
import { codeOf, refusalOf } from './refusal.ts'

let ctx: Context
let sessions: Sessions

beforeEach(async () => {
  ctx = await startHost()
  sessions = ctx.sessions
})

const event = (seq: number, type: string, data: unknown = {}, more: object = {}): AnySessionEvent => ({
  seq,
  time: 5,
  type,
  data,
  ...more,
})
const stored = (session: Session): AnySessionEvent[] => JSON.parse(JSON.stringify([...session.log])) as []
const any = { schema: z.any() }

describe('a seed', () => {
  it('is read back event by event, with one boundary after it', () => {
    const seed = [event(0, 'turn/start'), event(1, 'turn/end', { reason: 'completed' })]
    const { log } = sessions.create({ seed })
    expect([...log].slice(0, 2)).toEqual(seed)
    expect(log.last).toMatchObject({ seq: 2, type: 'session/resumed', data: {} })
    expect([...log].every(isDeepFrozen)).toBe(true)
  })

  it('may be any iterable, and is read once', () => {
    let reads = 0
    function* once(): Generator<AnySessionEvent> {
      reads += 1
      yield event(0, 'turn/start')
    }
    expect(sessions.create({ seed: once() }).log.length).toBe(2)
    expect(reads).toBe(1)
  })

  const broken: readonly [string, number, readonly unknown[]][] = [
    ['a gap', 1, [event(0, 'turn/start'), event(2, 'turn/start')]],
    ['a repeat', 1, [event(0, 'turn/start'), event(0, 'turn/start')]],
    ['a start above 0', 0, [event(1, 'turn/start')]],
    ['seqs in text', 0, [{ ...event(0, 'turn/start'), seq: '0' }]],
    ['a hole', 1, [event(0, 'turn/start'), undefined]],
    ['no events', 0, ['turn/start']],
    ['no type', 0, [{ ...event(0, 'a/b'), type: undefined }]],
    ['an empty type', 0, [event(0, '', {}, { ignorable: true })]],
    ['no time', 0, [{ ...event(0, 'turn/start'), time: NaN }]],
    ['a flag that is not true', 0, [event(0, 'a/b', {}, { ignorable: 'yes' })]],
    ['a core payload of another shape', 1, [event(0, 'turn/start'), event(1, 'turn/end', {})]],
  ]
  it.each(broken)('that has %s is refused at seq %i', (_what, seq, seed) => {
    const refusal = refusalOf(() => sessions.create({ seed: seed as AnySessionEvent[] }))
    expect([refusal.code, refusal.details.seq, refusal.details.intactThrough]).toEqual([
      'INVALID_SEED',
      seq,
      seq - 1,
    ])
    expect([...sessions]).toEqual([])
  })

  it('that holds what JSON has not is refused with type, seq and path', () => {
    const seed = [event(0, 'turn/start'), event(1, 'loose/a', { deep: [1n] }, { ignorable: true })]
    const { code, details } = refusalOf(() => sessions.create({ seed }))
    expect(code).toBe('INVALID_PAYLOAD')
    expect(details).toMatchObject({ type: 'loose/a', seq: 1, path: 'data.deep[0]' })
  })

  it.each([null, 5, {}, 'turn/start'])('that is no list is refused: %j', (seed) => {
    expect(codeOf(() => sessions.create({ seed: seed as never }))).toBe('INVALID_SEED')
  })

  it('that is refused is as it was: nothing in it is frozen', () => {
    const data = { parts: [{ type: 'text', text: 'mine', author: 'human' }] }
    const seed = [event(0, 'user/message', data), event(2, 'turn/start')]
    expect(codeOf(() => sessions.create({ seed }))).toBe('INVALID_SEED')
    expect([data, data.parts, data.parts[0], seed[0]].some((value) => Object.isFrozen(value))).toBe(false)
  })

  it('that is refused leaves its id free', () => {
    expect(codeOf(() => sessions.create({ id: 'a', seed: [event(1, 'turn/start')] }))).toBe('INVALID_SEED')
    expect(sessions.create({ id: 'a' }).log.length).toBe(0)
  })
})

describe('a type in a seed that nobody defines', () => {
  const seed = [event(0, 'turn/start'), event(1, 'future/thing', { a: 1 })]

  it('G4: is refused by name and seq when it is required', () => {
    const { code, details } = refusalOf(() => sessions.create({ seed }))
    expect([code, details.type, details.seq]).toEqual(['UNKNOWN_TYPE', 'future/thing', 1])
    expect(codeOf(() => sessions.view({ id: 'a', createdAt: 0 }, seed))).toBe('UNKNOWN_TYPE')
  })

  it('G4: is carried as it is when it is ignorable', () => {
    const loose = [event(0, 'future/thing', { a: [1, { b: null }] }, { ignorable: true })]
    const session = sessions.create({ seed: loose })
    expect(session.log.at(0)).toEqual(loose[0])
    expect(sessions.fork(session).log.at(0)).toBe(session.log.at(0))
  })

  it('is carried when the caller says so, and that is recorded and handed on to forks', () => {
    const session = sessions.create({ seed, carry: ['future/thing'] })
    expect(session.carried).toEqual(['future/thing'])
    expect(session.log.at(1)).toEqual(seed[1])
    const child = sessions.fork(session)
    expect([child.carried, child.log.at(1)]).toEqual([['future/thing'], session.log.at(1)])
    const append = session.append.bind(session) as unknown as (type: string, data: JsonValue) => unknown
    expect(codeOf(() => append('future/thing', {}))).toBe('UNKNOWN_TYPE')
  })

  it('G4: is never carried when it replaces what the model sees, whatever the caller or the event says', () => {
    const replacing = [event(0, 'future/end', {}, { replaces: true })]
    expect(codeOf(() => sessions.create({ seed: replacing, carry: ['future/end'] }))).toBe('UNKNOWN_TYPE')
    const disguised = [event(0, 'future/end', {}, { replaces: true, ignorable: true })]
    expect(codeOf(() => sessions.create({ seed: disguised }))).toBe('UNKNOWN_TYPE')
  })

  it('is refused in a fork when its plugin has gone, unless the fork ends before it', async () => {
    const fiber = await define(ctx, { owner: 'x', events: { 'x/a': any } })
    const parent = sessions.create()
    parent.append('turn/start', {})
    parent.append('x/a' as never, {} as never)
    await fiber.dispose()
    expect(refusalOf(() => sessions.fork(parent)).details).toMatchObject({ type: 'x/a', seq: 1 })
    expect(sessions.fork(parent, { through: 0 }).log.length).toBe(2)
  })

  it('that an early ignorable use hides is refused where a required use is inherited', async () => {
    const parent = sessions.create()
    parent.append('x/a', 1, { ignorable: true })
    const fiber = await define(ctx, { owner: 'x', events: { 'x/a': any } })
    parent.append('x/a' as never, 2 as never)
    await fiber.dispose()
    expect(refusalOf(() => sessions.fork(parent)).details).toMatchObject({ type: 'x/a', seq: 1 })
    expect(sessions.fork(parent, { through: 0 }).log.length).toBe(2)
  })
})

describe('history', () => {
  const strict = (schema: z.ZodType, upcast?: (data: JsonValue) => JsonValue) => ({
    owner: 'x',
    events: { 'x/a': { schema, ...(upcast && { upcast }) } },
  })

  it('stays valid when a schema is tightened, in a seed and in a fork', async () => {
    const fiber = await define(ctx, strict(z.any()))
    const old = sessions.create()
    old.append('x/a' as never, {} as never)
    await fiber.dispose()
    await define(ctx, strict(z.strictObject({ summary: z.string() })))
    expect(sessions.create({ seed: stored(old) }).log.at(0).data).toEqual({})
    expect(sessions.fork(old).log.at(0)).toBe(old.log.at(0))
    expect(codeOf(() => old.append('x/a' as never, {} as never))).toBe('INVALID_EVENT')
  })

  it('is brought to today’s shape by an upcast, in a seed, in a view and in a fork', async () => {
    const first = await define(ctx, strict(z.any()))
    const old = sessions.create()
    old.append('x/a' as never, { text: 'a' } as never)
    const events = stored(old)
    await first.dispose()
    const upcast = (data: JsonValue): JsonValue =>
      Object.hasOwn(data as object, 'summary') ? data : { summary: (data as { text: string }).text }
    await define(ctx, strict(z.strictObject({ summary: z.string() }), upcast))
    const views = [sessions.create({ seed: events }), sessions.view(old.header, events), sessions.fork(old)]
    for (const { log } of views) expect(log.at(0).data).toEqual({ summary: 'a' })
    expect(views.every(({ log }) => [...log].every(isDeepFrozen))).toBe(true)
    expect(old.log.at(0).data).toEqual({ text: 'a' })
  })

  it('is refused by type and seq when an upcast throws or gives what JSON has not', async () => {
    const seed = [event(0, 'x/a', { secret: 'hunter2' })]
    const throwing = await define(
      ctx,
      strict(z.any(), () => thrown()),
    )
    const refusal = refusalOf(() => sessions.create({ seed }))
    expect([refusal.code, refusal.details.type, refusal.details.seq]).toEqual(['INVALID_SEED', 'x/a', 0])
    expect(refusal.message).not.toContain('hunter2')
    await throwing.dispose()
    await define(
      ctx,
      strict(z.any(), () => 1n as never),
    )
    expect(codeOf(() => sessions.create({ seed }))).toBe('INVALID_PAYLOAD')
  })

  it('shares the events of the parent where an upcast has nothing to do', async () => {
    await define(
      ctx,
      strict(z.any(), (data) => data),
    )
    const parent = sessions.create()
    parent.append('x/a' as never, { text: 'a' } as never)
    expect(sessions.fork(parent).log.at(0)).toBe(parent.log.at(0))
  })

  it('reads the same after its plugin was reloaded', async () => {
    const fiber = await define(ctx, guestDefinitions)
    const session = sessions.create()
    session.append('note/said', { text: 'a' })
    session.append('job/start', { id: '1' })
    session.append('job/end', { id: '1' })
    const before = JSON.stringify(session.messages())
    await fiber.dispose()
    expect(JSON.stringify(session.messages())).toBe(before)
    await load(ctx, (guest) => void guest.effect(() => guest.sessions.define(guestDefinitions)))
    expect(JSON.stringify(session.messages())).toBe(before)
    expect(session.append('note/said', { text: 'b' }).seq).toBe(3)
  })
})

function thrown(): never {
  throw new Error('hunter2')
}
