import { assertLossless, isSessionError } from '@tidemark/session-core'
import fc from 'fast-check'
import { types } from 'node:util'
import { describe, expect, it } from 'vitest'
import { naiveLoss } from './lossless.ts'

class Instance {}

/** Ways to spoil a plain object or array. */
const spoilings: readonly ((value: object) => object)[] = [
  (value) => value,
  (value) => new Proxy(value, {}),
  (value) => Object.defineProperty(value, 'x', { get: () => 1, enumerable: true, configurable: true }),
  (value) => Object.defineProperty(value, '0', { get: () => 1, enumerable: true, configurable: true }),
  (value) => Object.defineProperty(value, 'x', { value: 1, enumerable: false, configurable: true }),
  (value) => Object.defineProperty(value, '__proto__', { value: 1, enumerable: true, configurable: true }),
  (value) => Object.assign(value, { [Symbol('x')]: 1 }),
  (value) => Object.defineProperty(value, Symbol('x'), { value: 1, enumerable: false }),
  (value) => Object.assign(value, { x: undefined }),
  (value) => Object.assign(value, { 7: 'far' }),
  (value) => Object.setPrototypeOf(value, Instance.prototype) as object,
  (value) => Object.setPrototypeOf(value, null) as object,
  (value) => (Array.isArray(value) ? ((value.length += 1), value) : value),
  (value) => Object.freeze(value),
]

const names = fc.constantFrom('a', 'b', 'x', '0', '7', '__proto__', 'constructor', 'toString')
const leaf = fc.oneof(
  { arbitrary: fc.oneof(fc.string(), fc.boolean(), fc.constant(null), fc.integer()), weight: 12 },
  { arbitrary: fc.constantFrom<unknown>(-0, NaN, Infinity, 1n, undefined, Symbol('x'), () => 1), weight: 1 },
)

const { value: anyValue } = fc.letrec((tie) => ({
  value: fc.oneof({ maxDepth: 4 }, leaf, tie('object')),
  object: fc
    .tuple(
      fc.oneof(fc.array(tie('value'), { maxLength: 3 }), fc.dictionary(names, tie('value'), { maxKeys: 4 })),
      fc.integer({ min: 0, max: 60 }),
    )
    .map(([plain, spoiling]) => {
      const value = Array.isArray(plain) ? [...plain] : { ...plain }
      return (spoilings[spoiling] ?? ((same) => same))(value)
    }),
}))

function lossOf(value: unknown): string | undefined {
  try {
    assertLossless(value)
    return undefined
  } catch (error) {
    if (!isSessionError(error) || error.code !== 'INVALID_PAYLOAD') throw error
    return error.details.path?.slice('data'.length)
  }
}

describe('any payload', () => {
  it('G3: is refused exactly where a look at every key and descriptor finds what JSON does not keep', () => {
    let lossy = 0
    let lossless = 0
    fc.assert(
      fc.property(anyValue, (value) => {
        const expected = naiveLoss(value, types.isProxy)
        if (expected === undefined) lossless += 1
        else lossy += 1
        expect(lossOf(value)).toBe(expected)
      }),
      { numRuns: 3_000 },
    )
    expect(Math.min(lossy, lossless)).toBeGreaterThan(300)
  })
})
