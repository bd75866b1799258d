import { defineBracket, defineProjection, type Definitions, type Session } from '@tidemark/session-core'
import type { Context } from 'cordis'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { define, load, startHost } from './host.ts'
import { codeOf, refusalOf } from './refusal.ts'

let ctx: Context
let session: Session
let append: (type: string, data: unknown, options?: object) => { seq: number; data: unknown }

beforeEach(async () => {
  ctx = await startHost()
  session = ctx.sessions.create()
  append = session.append.bind(session)
})

const any = { schema: z.any() }
const memo = (owner = 'memo'): Definitions => ({ owner, events: { 'memo/set': any } })

describe('a definition', () => {
  it('lets its types be appended until it is undone', () => {
    const undo = ctx.sessions.define(memo())
    expect(append('memo/set', { a: 1 })).not.toHaveProperty('ignorable')
    undo()
    expect(codeOf(() => append('memo/set', {}))).toBe('UNKNOWN_TYPE')
    expect(session.log.length).toBe(1)
  })

  it('goes with the plugin that made it', async () => {
    const fiber = await define(ctx, memo())
    append('memo/set', {})
    await fiber.dispose()
    expect(codeOf(() => append('memo/set', {}))).toBe('UNKNOWN_TYPE')
    await define(ctx, memo('another'))
    expect(append('memo/set', {}).seq).toBe(1)
  })

  it('belongs to its owner: another is refused, and told whose it is', () => {
    ctx.sessions.define(memo())
    const refusal = refusalOf(() => ctx.sessions.define(memo('thief')))
    expect([refusal.code, refusal.details.owner]).toEqual(['OWNED', 'memo'])
    expect(codeOf(() => ctx.sessions.define({ owner: 'thief', events: { 'turn/start': any } }))).toBe('OWNED')
  })

  it('is counted by instance: the last one that goes takes the type with it', () => {
    const undo = [ctx.sessions.define(memo()), ctx.sessions.define(memo())]
    undo[0]?.()
    undo[0]?.()
    expect(append('memo/set', {}).seq).toBe(0)
    undo[1]?.()
    expect(codeOf(() => append('memo/set', {}))).toBe('UNKNOWN_TYPE')
  })

  it('counts by its newest instance, and by the older one again when that has gone', () => {
    const events = (schema: z.ZodType): Definitions => ({ owner: 'memo', events: { 'memo/set': { schema } } })
    const strict = events(z.strictObject({ a: z.number() }))
    ctx.sessions.define(events(z.any()))
    const undo = ctx.sessions.define(strict)
    expect(codeOf(() => append('memo/set', 'text'))).toBe('INVALID_EVENT')
    undo()
    expect(append('memo/set', 'text').seq).toBe(0)
  })

  it('is taken whole or not at all', () => {
    ctx.sessions.define(memo())
    const clash: Definitions = { owner: 'x', events: { 'x/a': any, 'memo/set': any } }
    expect(codeOf(() => ctx.sessions.define(clash))).toBe('OWNED')
    const dangling = defineBracket({ name: 'x', open: 'x/a' as never, close: 'x/b' as never })
    const half: Definitions = { owner: 'x', events: { 'x/a': any }, brackets: [dangling] }
    expect(codeOf(() => ctx.sessions.define(half))).toBe('UNKNOWN_TYPE')
    expect(codeOf(() => append('x/a', {}))).toBe('UNKNOWN_TYPE')
    expect(ctx.sessions.define({ owner: 'y', events: { 'x/a': any } })).toBeTypeOf('function')
  })

  it('owns the names of its brackets and projections too', () => {
    const bracket = defineBracket({ name: 'turn', open: 'memo/set' as never, close: 'memo/set' as never })
    expect(codeOf(() => ctx.sessions.define({ ...memo(), brackets: [bracket] }))).toBe('OWNED')
    const projection = defineProjection({ name: 'transcript', version: 1, init: () => 0, apply: () => 0 })
    expect(codeOf(() => ctx.sessions.define({ owner: 'memo', projections: [projection] }))).toBe('OWNED')
    const state = defineProjection({ ...projection, name: 'bracket:turn' })
    expect(codeOf(() => ctx.sessions.define({ owner: 'memo', projections: [state] }))).toBe('OWNED')
  })

  it('cannot be both ignorable and replacing', () => {
    const event = { schema: z.any(), ignorable: true, replaces: () => undefined } as const
    expect(codeOf(() => ctx.sessions.define({ owner: 'x', events: { 'x/a': event } }))).toBe('INVALID_EVENT')
  })

  it.each(['plain', 'a b/c', ''])('cannot be of a type that reads %j', (type) => {
    expect(codeOf(() => ctx.sessions.define({ owner: 'x', events: { [type]: any } }))).toBe('INVALID_EVENT')
  })

  it('makes its types ignorable, where it says so, without being asked at append', () => {
    ctx.sessions.define({ owner: 'x', events: { 'x/a': { schema: z.any(), ignorable: true } } })
    expect(append('x/a', {})).toMatchObject({ ignorable: true })
    expect(append('x/a', {}, { ignorable: true })).toMatchObject({ ignorable: true })
  })
})

describe('a schema', () => {
  const withSchema = (schema: z.ZodType): void =>
    void ctx.sessions.define({ owner: 'x', events: { 'x/a': { schema } } })

  it.each([
    ['defaults', z.object({ a: z.number().default(7) }), {}],
    ['transforms', z.object({ a: z.string().transform((a) => a.length) }), { a: 'text' }],
    ['strips', z.object({ a: z.number() }), { a: 1, b: 2 }],
    ['coerces', z.object({ a: z.coerce.number() }), { a: '5' }],
    ['catches', z.object({ a: z.number().catch(0) }), { a: 'no number' }],
    ['prefaults', z.object({ a: z.number() }).prefault({ a: 1 }), { a: 2, c: [1] }],
  ])('checks and never changes: one that %s', (_what, schema, data) => {
    withSchema(schema)
    const text = JSON.stringify(data)
    const event = append('x/a', data)
    expect(event.data).toBe(data)
    expect(JSON.stringify(event.data)).toBe(text)
  })

  it('refuses what does not fit, and names where but not what', () => {
    withSchema(z.object({ list: z.array(z.object({ secret: z.number() })) }))
    const refusal = refusalOf(() => append('x/a', { list: [{ secret: 'hunter2' }] }))
    expect([refusal.code, refusal.details.type]).toEqual(['INVALID_EVENT', 'x/a'])
    expect(refusal.message).not.toContain('hunter2')
    expect(session.log.length).toBe(0)
  })

  it('that is asynchronous refuses everything', () => {
    withSchema(z.any().refine(async () => true))
    expect(codeOf(() => append('x/a', {}))).toBe('INVALID_EVENT')
  })

  it('that throws or rejects refuses, says nothing of what it threw, and ends no process', async () => {
    const unhandled = vi.fn()
    process.on('unhandledRejection', unhandled)
    const rejecting = { '~standard': { validate: () => Promise.reject(new Error('hunter2')) } }
    const throwing = { '~standard': { validate: thrown } }
    const refining = z.any().refine(() => thrown())
    const events = { 'x/a': { schema: rejecting }, 'x/b': { schema: throwing }, 'x/c': { schema: refining } }
    ctx.sessions.define({ owner: 'x', events })
    for (const type of Object.keys(events)) {
      const refusal = refusalOf(() => append(type, {}))
      expect(refusal.code).toBe('INVALID_EVENT')
      expect(refusal.message).not.toContain('hunter2')
    }
    await new Promise((resolve) => setTimeout(resolve, 10))
    process.off('unhandledRejection', unhandled)
    expect(unhandled).not.toHaveBeenCalled()
  })

  it('may come from another library that follows the standard', () => {
    const validate = (value: unknown) => (value === 'yes' ? {} : { issues: [{ message: 'no' }] })
    ctx.sessions.define({ owner: 'x', events: { 'x/a': { schema: { '~standard': { validate } } } } })
    expect(append('x/a', 'yes').seq).toBe(0)
    expect(codeOf(() => append('x/a', 'no'))).toBe('INVALID_EVENT')
  })
})

function thrown(): never {
  throw new Error('hunter2')
}

describe('a session', () => {
  it('that is there before a plugin speaks its types as soon as that is loaded', async () => {
    expect(codeOf(() => append('memo/set', {}))).toBe('UNKNOWN_TYPE')
    await load(ctx, (guest) => void guest.effect(() => guest.sessions.define(memo())))
    expect(append('memo/set', {}).seq).toBe(0)
  })

  it('names each type it has used with its first use, the strictest that there is', () => {
    append('x/a', 1, { ignorable: true })
    const undo = ctx.sessions.define({ owner: 'x', events: { 'x/a': any } })
    append('x/a', 2)
    append('x/a', 3)
    undo()
    append('x/a', 4, { ignorable: true })
    expect([...session.log.types].map(([type, { seq }]) => [type, seq])).toEqual([['x/a', 1]])
    const early = session.seed(0).log
    expect([...early.types].map(([type, { seq }]) => [type, seq])).toEqual([['x/a', 0]])
    const child = ctx.sessions.fork(session, { through: 0 })
    expect([...child.log.types.keys()]).toEqual(['x/a', 'session/resumed'])
  })
})
