import { readdirSync } from 'node:fs'
import { defineProjection, isSessionError, type Projection } from '@tidemark/session-core'
import type { Context } from 'cordis'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decode, encodeState } from '../../../packages/session-persistence/src/msgpack.ts'
import { folderOf } from '../files.ts'
import { reported, say, start, stop, type Started } from '../host.ts'
import { codeOf } from '../refusal.ts'
import { scratch } from '../scratch.ts'

const constant = (name: string, state: unknown): Projection<unknown> =>
  defineProjection({ name, version: 1, init: () => state, apply: (before: unknown) => before })

const count = defineProjection({
  name: 'count',
  version: 1,
  init: () => 0,
  apply: (state: number) => state + 1,
})

async function host(root: string, projections: readonly Projection<unknown>[]): Promise<Started> {
  const settings = { snapshotEvents: 50, retainEvents: 5, flushDelayMs: 1 }
  const started = await start({ enabled: true, root, ...settings })
  started.ctx.sessions.define({ owner: 'own', projections: [count, ...projections] })
  return started
}

/** A session that has let go of events, closed. Resolves to where its memory began. */
async function grown({ ctx }: Started, id: string): Promise<number> {
  const session = await ctx.sessionPersistence.create({ id })
  for (let index = 0; index < 20; index++) {
    for (let each = 0; each < 20; each++) say(session, 'x'.repeat(200))
    await session.flush()
    await new Promise((resolve) => setImmediate(resolve))
  }
  await expect.poll(() => snapshotsIn(ctx, id).length).toBeGreaterThan(0)
  await expect.poll(() => session.log.base).toBeGreaterThan(0)
  const { base } = session.log
  await ctx.sessions.dispose(session)
  return base
}

const roots = new WeakMap<Context, string>()
const snapshotsIn = (ctx: Context, id: string): string[] =>
  readdirSync(folderOf(roots.get(ctx) ?? '', id)).filter((name) => name.startsWith('snapshot-'))

const nested = (depth: number): unknown => {
  let value: unknown = 1
  for (let index = 0; index < depth; index++) value = index % 2 ? [value] : { k: value }
  return value
}
const cyclic = (): unknown => {
  const list: unknown[] = []
  list.push({ list })
  return list
}
const accessor = (): unknown => ({
  get x() {
    return 1
  },
})
class Thing {
  readonly a = 1
}

const kept: Readonly<Record<string, unknown>> = {
  'minus zero': { a: [-0, { b: -0 }], c: -0 },
  'undefined in a list and in an object': {
    a: [undefined, 1],
    b: undefined,
    c: { d: { e: { f: { g: { h: [undefined, -0, { i: undefined }] } } } } },
  },
  'no number, and infinities': [NaN, Infinity, -Infinity],
  'an object without a prototype': Object.assign(Object.create(null) as object, {
    a: -0,
    b: { c: undefined },
  }),
  'odd keys': JSON.parse('{"__proto__":{"x":1},"constructor":1,"1":2,"a":{"\\ud800":"\\udc00x"}}'),
  'as deep as may be': nested(512),
  undefined: undefined,
  'a number': -0,
}

const unfit: readonly (readonly [string, unknown, string])[] = [
  ['a map', { m: new Map([[1, 2]]) }, 'state.m'],
  ['a set', new Set([1]), 'state'],
  ['a date', { list: [0, { at: new Date(5) }] }, 'state.list[1].at'],
  ['a class', { secretName1: new Thing() }, 'state.(key)'],
  ['a bigint', { n: [1n] }, 'state.n[0]'],
  ['a function', { f: () => 1 }, 'state.f'],
  ['a symbol', [Symbol('x')], 'state[0]'],
  ['a typed array', { bytes: new Uint8Array([1, 2]) }, 'state.bytes'],
  ['an accessor', accessor(), 'state'],
  ['a hidden property', Object.defineProperty({}, 'x', { value: 1 }), 'state'],
  ['a symbol as key', { [Symbol('x')]: 1 }, 'state'],
  ['a hole', { list: Object.assign([], { length: 2 }) }, 'state.list'],
  ['a list with names', { found: 'abc'.match(/b/) }, 'state.found'],
]

const encoded = (state: unknown): unknown => decode(Buffer.concat([...encodeState('x', state)]))

describe('a state in a snapshot', () => {
  it('G36: comes back equal, whatever plain data it is', async () => {
    const root = scratch()
    const projections = Object.entries(kept).map(([name, state]) => constant(name, state))
    const first = await host(root, projections)
    roots.set(first.ctx, root)
    expect(await grown(first, 'a')).toBeGreaterThan(0)
    expect(reported(first.ctx)).toEqual([])
    await stop(first)
    const { ctx } = await host(root, projections)
    const view = await ctx.sessionPersistence.inspect('a')
    expect(view.log.base).toBeGreaterThan(0)
    for (const projection of projections)
      expect([projection.name, view.read(projection)]).toStrictEqual([projection.name, kept[projection.name]])
  })

  it.each(['__proto__', 'constructor', 'toString', '\ud800', '', '0'])(
    'G36: comes back whatever its projection is called: %j',
    async (name) => {
      const root = scratch()
      const named = constant(name, { kept: name })
      const first = await host(root, [named])
      roots.set(first.ctx, root)
      expect(await grown(first, 'a')).toBeGreaterThan(0)
      expect(reported(first.ctx)).toEqual([])
      await stop(first)
      const { ctx } = await host(root, [named])
      const view = await ctx.sessionPersistence.inspect('a')
      expect(view.log.base).toBeGreaterThan(0)
      expect([view.read(named), view.read(count)]).toEqual([{ kept: name }, view.log.length])
    },
  )

  it('comes back equal, or is refused and nothing else', () => {
    const values = fc.anything({
      withNullPrototype: true,
      withMap: true,
      withDate: true,
      withSparseArray: true,
    })
    fc.assert(
      fc.property(values, (state) => {
        let back: unknown
        try {
          back = encoded(state)
        } catch (error) {
          expect(isSessionError(error) && error.code).toBe('UNFIT_STATE')
          return
        }
        expect(back).toStrictEqual(state)
      }),
      { numRuns: 2_000 },
    )
  })

  it.each([
    ...unfit,
    ['a cycle', cyclic(), undefined],
    ['too deep', nested(513), undefined],
    ['much too deep', nested(20_000), undefined],
  ] as const)(
    'G36, G37: %s: it alone is left out, and the host is told once where',
    async (_, state, path) => {
      const root = scratch()
      const bad = constant('bad', state)
      const first = await host(root, [bad])
      roots.set(first.ctx, root)
      expect(await grown(first, 'a')).toBeGreaterThan(0)
      await grown(first, 'b')
      const told = reported(first.ctx).map(
        (error) => isSessionError(error) && [error.code, error.details.name],
      )
      expect(told).toEqual([['UNFIT_STATE', 'bad']])
      const [error] = reported(first.ctx)
      if (path !== undefined) expect(isSessionError(error) && error.details.path).toBe(path)
      await stop(first)

      const { ctx } = await host(root, [bad])
      const resumed = await ctx.sessionPersistence.resume('a')
      expect(resumed.log.base).toBeGreaterThan(0)
      expect(resumed.read(count)).toBe(resumed.log.length)
      expect(await codeOf(() => resumed.read(bad))).toBe('NOT_LOADED')
      await resumed.load(bad)
      expect(resumed.read(bad)).toBe(state)
    },
  )
})
