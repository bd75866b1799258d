import { isSessionError } from '@tidemark/session-core'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { encoder } from '../../../packages/session-persistence/src/msgpack-codec.ts'
import { decode, encodeState } from '../../../packages/session-persistence/src/msgpack.ts'

const encoded = (state: unknown): Buffer => Buffer.concat([...encodeState('x', state)])

/** Where a state cannot be kept, told value by value and rule by rule; `undefined` where it can. */
function refusedAt(value: unknown, path = 'state', depth = 0): string | undefined {
  if (['bigint', 'symbol', 'function'].includes(typeof value)) return path
  if (typeof value !== 'object' || value === null) return undefined
  const prototype: unknown = Object.getPrototypeOf(value)
  if (depth >= 512 || ArrayBuffer.isView(value)) return path
  const keys = Object.keys(value)
  if (Array.isArray(value)) {
    if (prototype !== Array.prototype || Reflect.ownKeys(value).length !== value.length + 1) return path
  } else {
    if (prototype !== Object.prototype && prototype !== null) return path
    if (Reflect.ownKeys(value).length !== keys.length) return path
    if (Object.values(Object.getOwnPropertyDescriptors(value)).some(({ get }) => get)) return path
  }
  for (const key of keys) {
    const step = Array.isArray(value) ? `[${key}]` : /^[a-z][A-Za-z]{0,23}$/.test(key) ? `.${key}` : '.(key)'
    const found = refusedAt((value as Record<string, unknown>)[key], path + step, depth + 1)
    if (found) return found
  }
  return undefined
}

/** Where it is refused; otherwise nothing, and it comes back equal. */
function toldOf(state: unknown): unknown {
  try {
    expect(decode(encoded(state))).toStrictEqual(state)
    return undefined
  } catch (error) {
    if (!isSessionError(error)) throw error
    return [error.code, error.details.path]
  }
}

class Thing {
  readonly a = 1
}
const odd = fc.constantFrom<unknown>(
  ...[undefined, -0, NaN, 1n, Symbol('x'), () => 1, new Date(3), new Map(), new Thing(), new Uint8Array([1])],
  ...['\ud800', { '\ud800': -0 }, JSON.parse('{"__proto__":{"y":1}}'), Object.create(null)],
  Object.defineProperty({ y: 1 }, 'x', { value: 1 }),
  Object.defineProperty({}, 'x', { get: () => expect.unreachable(), enumerable: true }),
  ...[Object.assign([], { length: 2 }), Object.assign([1], { x: 1 }), { [Symbol('x')]: 1 }],
)
const leaf = fc.oneof(
  {
    weight: 30,
    arbitrary: fc.oneof(fc.integer(), fc.double(), fc.string(), fc.boolean(), fc.constant(null)),
  },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 9 }).map((count) => 'text '.repeat(count * 20_000)) },
  { weight: 1, arbitrary: odd },
)
const small = fc.letrec((tie) => ({
  tree: fc.oneof(
    leaf,
    fc.array(tie('tree'), { maxLength: 5 }),
    fc.dictionary(fc.constantFrom('a', 'field', 'a b', 'B'), tie('tree'), { maxKeys: 4 }),
  ),
})).tree
/** As a list or an object of thousands of values, in the middle of others, so that it is taken apart. */
const states = fc
  .tuple(small, small, fc.integer({ min: 1, max: 6_000 }), fc.integer({ min: 0, max: 8 }), fc.boolean())
  .map(([one, other, count, depth, isList]) => {
    const items = Array.from({ length: count }, (_, index) => (index === count - 1 ? one : index))
    let state: unknown = isList ? items : Object.fromEntries(items.map((item, index) => [`k${index}`, item]))
    for (let level = 0; level < depth; level++) state = level % 2 ? [other, state, level] : { state, other }
    return state
  })

describe('the check of a state', () => {
  it('G36, G37: refuses what a check value by value refuses, at the same place, however large it is', () => {
    fc.assert(
      fc.property(fc.oneof(small, states), (state) => {
        const path = refusedAt(state)
        expect(toldOf(state)).toEqual(path && ['UNFIT_STATE', path])
      }),
      { numRuns: 400 },
    )
  }, 60_000)

  it('writes of plain data what MessagePack writes of it, also of what is taken apart', () => {
    const plain = fc.jsonValue().map((value) => JSON.parse(JSON.stringify(value)) as unknown)
    fc.assert(
      fc.property(plain, fc.integer({ min: 1, max: 9_000 }), (value, count) => {
        const state = {
          list: Array.from({ length: count }, (_, index) => (index % 1_000 ? index : value)),
          value,
        }
        const isPlain = refusedAt(state) === undefined && !JSON.stringify(state).includes('__proto__')
        fc.pre(isPlain)
        expect(encoded(state).equals(encoder.encode(state))).toBe(true)
      }),
      { numRuns: 100 },
    )
  }, 60_000)

  it('gives the pieces of a large state one by one, and none that holds much of it', () => {
    const state = {
      entries: Array.from({ length: 6_000 }, (_, seq) => ({ seq, parts: [{ text: 'x'.repeat(200) }] })),
    }
    const pieces = [...encodeState('x', state)].map(({ length }) => length)
    const sizeBytes = pieces.reduce((sum, each) => sum + each)
    expect(Math.max(...pieces)).toBeLessThan(sizeBytes / 4)
    expect(pieces.length).toBeLessThan(100)
  })
})
