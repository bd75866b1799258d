import { assertLossless, payloadDepthMax, payloadValuesMax, type Session } from '@tidemark/session-core'
import { beforeEach, describe, expect, it } from 'vitest'
import { isDeepFrozen, isUnfrozen } from './frozen.ts'
import { startHost } from './host.ts'
import { codeOf, refusalOf } from './refusal.ts'

let session: Session

beforeEach(async () => {
  session = (await startHost()).sessions.create()
})

const append = (data: unknown): { seq: number; data: unknown } =>
  session.append('loose/event', data as never, { ignorable: true })

function nested(depth: number): unknown {
  let value: unknown = 0
  for (let level = 0; level < depth; level++) value = level % 2 === 0 ? [value] : { inner: value }
  return value
}

function cycle(): unknown {
  const value: Record<string, unknown> = { list: [] }
  ;(value.list as unknown[]).push(value)
  return value
}

class Money {
  amount = 1
}
class List extends Array<number> {}

const accessor = Object.defineProperty({}, 'a', { get: () => 1, enumerable: true })
const throwing = Object.defineProperty({}, 'a', {
  get: () => {
    throw new Error('secret')
  },
  enumerable: true,
})
const trap = (): never => {
  throw new Error('secret')
}

const lossy: Readonly<Record<string, unknown>> = {
  bigint: 1n,
  undefined: undefined,
  function: () => 1,
  symbol: Symbol('a'),
  NaN: NaN,
  Infinity: Infinity,
  '-Infinity': -Infinity,
  '-0': -0,
  Date: new Date(0),
  Map: new Map(),
  Set: new Set(),
  RegExp: /a/,
  Error: new Error('a'),
  Promise: Promise.resolve(),
  typedArray: new Uint8Array(2),
  buffer: Buffer.from('a'),
  instance: new Money(),
  arrayOfAClass: List.from([1]),
  boxedNumber: Object(1) as unknown,
  boxedString: Object('a') as unknown,
  boxedBoolean: Object(false) as unknown,
  boxedBigint: Object(1n) as unknown,
  nullPrototype: Object.create(null) as unknown,
  inherited: Object.create({ a: 1 }) as unknown,
  cycle: cycle(),

  hole: [1, , 2],
  onlyHoles: new Array(3),
  namedArrayProperty: Object.assign([1], { name: 'a' }),

  holeHiddenByName: Object.assign([1, ,], { name: 'a' }),
  accessor,
  throwingGetter: throwing,
  arrayAccessor: Object.defineProperty([1], 0, { get: () => 1, enumerable: true }),
  hidden: Object.defineProperty({}, 'a', { value: 1, enumerable: false }),
  symbolKey: { [Symbol('a')]: 1 },
  symbolKeyOfArray: Object.assign([1], { [Symbol('a')]: 1 }),
  proxy: new Proxy({ a: 1 }, {}),
  arrayProxy: new Proxy([1], {}),
  throwingProxy: new Proxy({ a: 1 }, { getPrototypeOf: trap, ownKeys: trap, get: trap }),
  toJSON: { toJSON: () => 'other' },
  arguments: (function (..._all: number[]) {
    // eslint-disable-next-line prefer-rest-params
    return arguments
  })(1, 2),
}

describe('a payload that JSON text would not give back', () => {
  it.each(Object.entries(lossy))('G3: is refused: %s', (_name, value) => {
    for (const payload of [value, { deep: [{ value }] }, [[value]]]) {
      expect(codeOf(() => append(payload))).toBe('INVALID_PAYLOAD')
    }
    expect(session.log.length).toBe(0)
    expect(append({ next: true }).seq).toBe(0)
  })

  it('is left as it was, and unfrozen', () => {
    for (const value of [1n, undefined, NaN, new Date(0), new Map()]) {
      const payload = { list: [{ text: 'a' }], value }
      expect(codeOf(() => append(payload))).toBe('INVALID_PAYLOAD')
      expect(payload).toEqual({ list: [{ text: 'a' }], value })
      expect(isUnfrozen(payload.list) && !Object.isFrozen(payload)).toBe(true)
    }
  })

  it('runs none of its own code', () => {
    let ran = 0
    const count = (): number => (ran += 1)
    const spies = [
      Object.defineProperty({}, 'a', { get: count, enumerable: true }),
      new Proxy({}, { ownKeys: () => (count(), []), getPrototypeOf: () => (count(), Object.prototype) }),
      { toJSON: count },
      { valueOf: count, toString: count },
    ]
    for (const spy of spies) expect(codeOf(() => append({ spy }))).toBe('INVALID_PAYLOAD')
    expect(ran).toBe(0)
  })

  it('G30: is named by its path, and never by its content or by a key that may be content', () => {
    const { details, message } = refusalOf(() => append({ parts: [{ text: 'a' }, { 'my secret': 1n }] }))
    expect(details).toMatchObject({ type: 'loose/event', seq: 0, path: 'data.parts[1].(key)' })
    expect(message).not.toContain('secret')
    expect(refusalOf(() => append(throwing)).message).not.toContain('secret')
    expect(refusalOf(() => append(lossy.throwingProxy)).message).not.toContain('secret')
  })
})

describe('the depth of a payload', () => {
  it('is accepted at the limit and refused one past it', () => {
    expect(append(nested(payloadDepthMax)).data).toEqual(nested(payloadDepthMax))
    expect(codeOf(() => append(nested(payloadDepthMax + 1)))).toBe('INVALID_PAYLOAD')
    expect(append(0).seq).toBe(1)
  })

  it('never meets the end of the call stack', () => {
    expect(codeOf(() => append(nested(100_000)))).toBe('INVALID_PAYLOAD')
    expect(append(0).seq).toBe(0)
  })
})

describe('the number of values in a payload', () => {
  it('is accepted at the limit and refused one past it', () => {
    expect(() => assertLossless(new Array(payloadValuesMax - 1).fill(0))).not.toThrow()
    expect(codeOf(() => assertLossless(new Array(payloadValuesMax).fill(0)))).toBe('INVALID_PAYLOAD')
  })

  it('counts a shared object as often as it stands in the text, so that a small bomb is refused at once', () => {
    let bomb: unknown = []
    for (let level = 0; level < 60; level++) bomb = [bomb, bomb]
    expect(codeOf(() => append(bomb))).toBe('INVALID_PAYLOAD')
    const shared = { text: 'a' }
    expect(append([shared, shared]).data).toEqual([{ text: 'a' }, { text: 'a' }])
  })
})

const kept: Readonly<Record<string, unknown>> = {
  null: null,
  true: true,
  empty: '',
  zero: 0,
  smallest: Number.MIN_VALUE,
  largest: Number.MAX_VALUE,
  unsafe: 2 ** 60,
  fraction: 0.1 + 0.2,
  emptyObject: {},
  emptyArray: [],
  emptyKey: { '': 1 },
  lineSeparators: '\u2028\u2029\u0085\v\f\r\n',
  nul: 'a\u0000b',
  loneSurrogates: ['a\ud83c', '\udf7bb', { '\ud800': '\udfff' }],
  pair: '👻',
  decomposed: ['é', 'é'],
  numericKeys: { 2: 'b', 1: 'a', x: 'c' },
  protoKey: JSON.parse('{"__proto__":{"x":1},"constructor":{"prototype":{"x":1}}}'),
  methodNames: { toString: 'a', hasOwnProperty: 'b', valueOf: 1, then: 'c', toJSON: 'text' },
  frozen: Object.freeze({ list: Object.freeze([1]) }),
}

describe('a payload of plain JSON', () => {
  it.each(Object.entries(kept))('G2: is stored and read back as it is: %s', (_name, value) => {
    const text = JSON.stringify({ value })
    const event = append({ value })
    expect(JSON.stringify(event.data)).toBe(text)
    expect(JSON.parse(JSON.stringify(event))).toEqual(event)
    expect(isDeepFrozen(event)).toBe(true)
    expect(session.log.at(event.seq)).toBe(event)
  })

  it('keeps __proto__ and constructor as keys of its own and pollutes nothing', async () => {
    const { sessions } = await startHost()
    append(kept.protoKey)
    const replayed = sessions.create({ seed: JSON.parse(JSON.stringify([...session.log])) as [] })
    const data = replayed.log.at(0).data as object
    expect(Object.keys(data)).toEqual(['__proto__', 'constructor'])
    expect(Object.getPrototypeOf(data)).toBe(Object.prototype)
    expect(({} as { x?: unknown }).x).toBeUndefined()
  })

  it('becomes the session’s own: the argument is what is stored, and is frozen', () => {
    const payload = { list: [{ text: 'a' }] }
    const event = append(payload)
    expect(event.data).toBe(payload)
    expect(() => payload.list.push({ text: 'b' })).toThrow(TypeError)
    expect(session.log.at(0).data).toEqual({ list: [{ text: 'a' }] })
  })
})
