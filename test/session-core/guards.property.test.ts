import type { JsonValue } from '@tidemark/session-core'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { coreSchemas } from '../../packages/session-core/src/core.ts'
import { coreGuards } from '../../packages/session-core/src/guards.ts'

type Guarded = keyof typeof coreGuards
const guarded = Object.keys(coreGuards) as Guarded[]

const accepts = (type: Guarded, data: unknown): boolean => coreSchemas[type].safeParse(data).success

const text = fc.string()
const json = fc.jsonValue() as fc.Arbitrary<JsonValue>
const optional = { requiredKeys: [] as never[] }
const meta = fc.record(
  { meta: fc.dictionary(fc.string({ maxLength: 4 }), json, { noNullPrototype: true }) },
  optional,
)
const textPart = fc.record({ type: fc.constant('text'), text })
const reasoningPart = fc.record(
  { type: fc.constant('reasoning'), text, signature: text },
  { requiredKeys: ['type', 'text'] },
)
const author = fc.constantFrom('human', 'agent', 'file', 'tool', 'system')
const userPart = fc.record({ type: fc.constant('text'), text, author })
const few = <T>(part: fc.Arbitrary<T>): fc.Arbitrary<T[]> => fc.array(part, { maxLength: 3 })

/** The shapes that agents append all day, without `meta`. */
const common: Readonly<Record<Guarded, fc.Arbitrary<object>>> = {
  'turn/start': fc.constant({}),
  'turn/end': fc.record({ reason: fc.constantFrom('completed', 'interrupted', 'failed', 'limit') }),
  'step/start': fc.constant({}),
  'step/end': fc.constant({}),
  'user/message': fc.record({ parts: few(userPart) }),
  'assistant/chunk': fc.record({ kind: fc.constantFrom('text', 'reasoning', 'call'), text }),
  'assistant/message': fc.record({ parts: few(fc.oneof(textPart, reasoningPart)) }),
  'tool/call': fc.record({ callId: text, name: fc.string({ minLength: 1 }), arguments: json }),
  'tool/result': fc.record({
    callId: text,
    callSeq: fc.nat(),
    outcome: fc.constantFrom('ok', 'error'),
    parts: few(textPart),
  }),
}

const odd = fc.oneof(
  json,
  fc.constantFrom('text', 'reasoning', 'file', 'human', 'ok', '', -1, 0.5, 2 ** 53, 1e300, {}, []),
)
const seqs = [0, 2 ** 53 - 1, 2 ** 53, -1, 0.5, 1e300, '0', null, undefined]
const keys = fc.constantFrom(
  ...['meta', 'parts', 'type', 'text', 'kind', 'author', 'signature', 'reason', 'callId', 'callSeq', 'name'],
  ...['outcome', 'arguments', 'data', '__proto__', 'constructor', 'toString', 'extra', '0'],
)
const changes = fc.array(fc.record({ at: fc.nat({ max: 3 }), key: keys, value: odd, drop: fc.boolean() }), {
  maxLength: 3,
})
type Changes = typeof changes extends fc.Arbitrary<infer T> ? T : never

/** A payload with some fields of it, or of an object inside it, dropped, added or replaced. */
function changed(payload: object, all: Changes): unknown {
  const copy = copyOf(payload)
  for (const { at, key, value, drop } of all) {
    const object = objectsIn(copy)[at]
    if (object === undefined) continue
    if (drop) Reflect.deleteProperty(object, key)
    else set(object, key, copyOf(value))
  }
  return copyOf(copy)
}

const copyOf = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

/** Also `__proto__`, as a field like any other. */
const set = (object: object, key: string, value: unknown): object =>
  Object.defineProperty(object, key, { value, enumerable: true, writable: true, configurable: true })

function objectsIn(value: unknown): object[] {
  if (typeof value !== 'object' || value === null) return []
  return [...(Array.isArray(value) ? [] : [value]), ...Object.values(value).flatMap(objectsIn)]
}

describe.each(guarded)('what is known of %s without its schema', (type) => {
  const guard = coreGuards[type]

  it('is known of every common payload, with and without meta', () => {
    const withMeta = fc.tuple(common[type], meta).map(([data, more]) => ({ ...data, ...more }))
    fc.assert(
      fc.property(withMeta, (data) => {
        expect([guard(data), accepts(type, data)]).toEqual([true, true])
      }),
    )
  })

  it('is never more than the schema accepts', () => {
    let refused = 0
    const payload = fc.tuple(fc.tuple(common[type], meta), changes).map(([[data, more], all]) => {
      return changed({ ...data, ...more }, all)
    })
    fc.assert(
      fc.property(fc.oneof({ arbitrary: payload, weight: 9 }, odd), (data) => {
        const accepted = accepts(type, data)
        if (!accepted) refused += 1
        if (guard(data)) expect(accepted).toBe(true)
      }),
      { numRuns: 1_000 },
    )
    expect(refused).toBeGreaterThan(100)
  })

  it('counts no field that only a prototype has', () => {
    fc.assert(
      fc.property(common[type], (data) => {
        const [first] = Object.keys(data)
        if (first === undefined) return
        const { [first]: inherited, ...rest } = data as Record<string, unknown>
        const payload = { ...rest, extra: 1 }
        const property = { value: inherited, enumerable: true, configurable: true, writable: true }
        Object.defineProperty(Object.prototype, first, property)
        const known = guard(payload)
        Reflect.deleteProperty(Object.prototype, first)
        expect(known).toBe(false)
      }),
      { numRuns: 20 },
    )
  })
})

describe('the seq of a call', () => {
  it.each(seqs)('fits its result without the schema exactly when it does with it: %s', (callSeq) => {
    const data = { callId: '', callSeq, outcome: 'ok', parts: [] }
    expect(coreGuards['tool/result'](data)).toBe(accepts('tool/result', data))
  })
})

describe('meta', () => {
  it('may have any keys', () => {
    const own: unknown = JSON.parse(
      '{"__proto__":{"a":1},"constructor":{"prototype":null},"toString":1,"":0}',
    )
    const data = { kind: 'text', text: '', meta: own }
    expect([coreGuards['assistant/chunk'](data), accepts('assistant/chunk', data)]).toEqual([true, true])
  })
})
