import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { encodeEvent } from '@tidemark/session-persistence'
import { append, event, headerOf, newClaim, readBack } from '../batches.ts'
import type { Place } from './storage-contract.ts'

const awkward: readonly (readonly [id: string, what: string, data: unknown])[] = [
  ['L01', 'line separators', 'a\u2028b\u2029c\u0085d\vf\fg\rh\r\ni\nj'],
  ['L02', 'a lone high surrogate', 'a\ud83c'],
  ['L02', 'a lone low surrogate', '\udff7b'],
  [
    'L05',
    'control characters in keys and values',
    { 'a\nb': 'c\r\nd', '\t': '\0', '\x1b': '\x7f', '\r': '\n\n' },
  ],
  ['L05', 'a toJSON that is no function', { toJSON: 'x\ny' }],
  ['L06', 'an own key __proto__', JSON.parse('{"__proto__":{"x":1},"constructor":{"prototype":2}}')],
  ['L11', 'a NUL in a string', 'a\u0000b'],
  ['L11', 'text that looks like lines of the file', '{"seq":1,"time":2}\n{"commit":{"from":0}}\n'],
  [
    'L11',
    'values that look like lines of the file',
    { commit: { from: 0, to: 0, sum: 'f'.repeat(64) }, seq: 3 },
  ],
  ['L11', 'a BOM and edges of Unicode', '\ufeff\uffff\u{10ffff}\u{1f600}'],
]

export function fidelityContract(makePlace: () => Place): void {
  describe('payloads', () => {
    async function roundTrip(data: readonly unknown[]): Promise<unknown[]> {
      const place = makePlace()
      const storage = place.open()
      const lease = await storage.create(headerOf('a'), { claim: newClaim() })
      await append(
        lease,
        data.map((each, seq) => encodeEvent(event(seq, each))),
      )
      return (await readBack(place.open(), 'a')).events.map((each) => each.data)
    }

    it.each(awkward)('%s: %s comes back equal', async (_id, _what, data) => {
      expect(await roundTrip([data, data])).toEqual([data, data])
      expect(({} as { x?: unknown }).x).toBe(undefined)
    })

    it('L02: an emoji text cut anywhere comes back equal', async () => {
      const text = '🏴‍☠️👩‍👩‍👧'.repeat(20)
      const cuts = Array.from({ length: text.length }, (_, length) => text.slice(0, length))
      expect(await roundTrip(cuts)).toEqual(cuts)
    })

    it('any JSON comes back equal, and so do the flags', async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.jsonValue({ maxDepth: 4 }), { minLength: 1, maxLength: 8 }),
          async (data) => {
            const plain = JSON.parse(JSON.stringify(data)) as unknown[]
            expect(await roundTrip(plain)).toEqual(plain)
          },
        ),
        { numRuns: 25 },
      )
      const place = makePlace()
      const lease = await place.open().create(headerOf('a'), { claim: newClaim() })
      const flagged = [
        event(0, {}, { ignorable: true }),
        event(1, {}, { replaces: true }),
        event(2, null, { time: -1.5 }),
      ]
      await append(lease, flagged.map(encodeEvent))
      expect((await readBack(place.open(), 'a')).events).toEqual(flagged)
    })

    it('what is read is not what was appended: changing one does not change the other', async () => {
      const storage = makePlace().open()
      const data = { list: [1] }
      await append(await storage.create(headerOf('a'), { claim: newClaim() }), [encodeEvent(event(0, data))])
      data.list.push(2)
      expect((await readBack(storage, 'a')).events[0]?.data).toEqual({ list: [1] })
    })
  })
}
