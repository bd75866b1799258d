import type { AnySessionEvent } from '@tidemark/session-core'
import { decodeEvent, encodeEvent, linesOf } from '@tidemark/session-persistence'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isLarger } from '../../packages/session-persistence/src/encoded-event.ts'
import { event } from './batches.ts'

/** Tells how often the text of its event was made. */
function watched(data: () => unknown): { event: AnySessionEvent; madeCount: () => number } {
  let count = 0
  const payload = {
    kind: 'text',
    get text() {
      count += 1
      return data()
    },
  }
  return { event: event(0, payload), madeCount: () => count }
}

const time = fc.oneof(
  fc.constantFrom(0, -1e300, 5e-324, -2.2250738585072014e-308),
  fc.double({ noNaN: true }),
)
const type = fc.string({ unit: 'binary', maxLength: 10 })
const flags = fc.record(
  { ignorable: fc.constant(true as const), replaces: fc.constant(true as const) },
  { requiredKeys: [] },
)
const payload = fc.oneof(
  fc.jsonValue({ stringUnit: 'binary' }),
  fc.array(fc.oneof(fc.string({ unit: 'binary' }), fc.double(), fc.boolean()), { maxLength: 100 }),
  fc.dictionary(fc.string({ unit: 'binary' }), fc.constantFrom('\0', '\ud800', -1.5e-300, null, false)),
  fc.constantFrom(undefined, new Date(0), new Map(), [, 1], Object.create(null), new String('\0'.repeat(99))),
)

describe('the size of an event', () => {
  it('is exactly that of its line, and never more than its bound', () => {
    fc.assert(
      fc.property(time, type, payload, flags, (at, of, data, more) => {
        const encoded = encodeEvent({ seq: Number.MAX_SAFE_INTEGER, time: at, type: of, data, ...more })
        expect(encoded.sizeBytes).toBe(linesOf([encoded]).length)
        expect(encoded.sizeBytesMax).toBeGreaterThanOrEqual(encoded.sizeBytes)
      }),
      { numRuns: 1_000 },
    )
  })

  it('is compared with a limit to the byte', () => {
    for (const data of ['x'.repeat(500), '\0'.repeat(500), '🌊', { kind: 'text', text: '中' }]) {
      const { sizeBytes, sizeBytesMax } = encodeEvent(event(0, data))
      const isOver = (limitBytes: number): boolean => isLarger(encodeEvent(event(0, data)), limitBytes)
      expect([isOver(sizeBytes - 1), isOver(sizeBytes), isOver(sizeBytesMax)]).toEqual([true, false, false])
    }
  })
})

describe('the text of an event', () => {
  it('is made when it is first asked for, once', () => {
    const { event: of, madeCount } = watched(() => 'a')
    const encoded = encodeEvent(of)
    const looks = madeCount()
    expect([encoded.json, encoded.sizeBytes, encoded.json]).toEqual([
      '{"seq":0,"time":1000,"type":"test/event","data":{"kind":"text","text":"a"}}',
      encoded.json.length + 1,
      encoded.json,
    ])
    expect(madeCount()).toBe(looks + 1)
  })

  it('is not made for a limit that is far away', () => {
    const { event: of, madeCount } = watched(() => 'x'.repeat(1_000))
    const encoded = encodeEvent(of)
    const looks = madeCount()
    expect(isLarger(encoded, 10_000)).toBe(false)
    expect(madeCount()).toBe(looks)
    expect(isLarger(encoded, 2_000)).toBe(false)
    expect(madeCount()).toBe(looks + 1)
  })

  it('comes back as the event', () => {
    const events = [event(0, { a: [1, '\ud800'] }), event(1, null, { ignorable: true, replaces: true })]
    expect(events.map((each) => decodeEvent(encodeEvent(each).json))).toEqual(events)
  })
})
