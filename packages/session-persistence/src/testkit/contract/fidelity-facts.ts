import { encodeEvent } from '../../encoded-event.ts'
import { Seeded } from '../seeded.ts'
import { append, event, headerOf, newClaim, readBack } from './batches.ts'
import type { Fact, Facts, Place } from './fact.ts'
import { jsonValue } from './json-value.ts'

const awkward: readonly (readonly [title: string, data: unknown])[] = [
  ['L01: line separators', 'a\u2028b\u2029c\u0085d\vf\fg\rh\r\ni\nj'],
  ['L02: a lone high surrogate', 'a\ud83c'],
  ['L02: a lone low surrogate', '\udff7b'],
  [
    'L05: control characters in keys and values',
    { 'a\nb': 'c\r\nd', '\t': '\0', '\x1b': '\x7f', '\r': '\n\n' },
  ],
  ['L05: a toJSON that is no function', { toJSON: 'x\ny' }],
  ['L06: an own key __proto__', JSON.parse('{"__proto__":{"x":1},"constructor":{"prototype":2}}')],
  ['L11: a NUL in a string', 'a\u0000b'],
  ['L11: text that looks like lines of a file', '{"seq":1,"time":2}\n{"commit":{"from":0}}\n'],
  ['L11: values that look like lines of a file', { commit: { from: 0, to: 0, sum: 'f'.repeat(64) }, seq: 3 }],
  ['L11: a BOM and edges of Unicode', '\ufeff\uffff\u{10ffff}\u{1f600}'],
]

/** Values in each of which any JSON may stand. */
const roundsCount = 25
const valuesMax = 8
const depthMax = 4

/** The payloads as they come back. Each round trip is a session of its own. */
async function roundTrip(place: Place, data: readonly unknown[], id = 'a'): Promise<unknown[]> {
  const lease = await place.open().create(headerOf(id), { claim: newClaim() })
  await append(
    lease,
    data.map((each, seq) => encodeEvent(event(seq, each))),
  )
  return (await readBack(place.open(), id)).events.map((each) => each.data)
}

function comesBack([title, data]: readonly [title: string, data: unknown]): readonly [string, Fact] {
  const fact: Fact = async ({ place, expect }) => {
    expect(await roundTrip(place, [data, data])).toEqual([data, data])
    expect(({} as { x?: unknown }).x).toBe(undefined)
  }
  return [`${title} comes back equal`, fact]
}

export const fidelityFacts: Facts = {
  ...Object.fromEntries(awkward.map(comesBack)),

  'L02: an emoji text cut anywhere comes back equal': async ({ place, expect }) => {
    const text = '🏴‍☠️👩‍👩‍👧'.repeat(20)
    const cuts = Array.from({ length: text.length }, (_, length) => text.slice(0, length))
    expect(await roundTrip(place, cuts)).toEqual(cuts)
  },

  'G2: any JSON comes back equal': async ({ place, expect }) => {
    for (let round = 0; round < roundsCount; round++) {
      const random = Seeded.of(round, 'json')
      const data = Array.from({ length: 1 + random.below(valuesMax) }, () => jsonValue(random, depthMax))
      expect(await roundTrip(place, data, `round-${round}`), `round ${round}`).toEqual(data)
    }
  },

  'flags and times come back equal': async ({ place, storage, expect }) => {
    const lease = await storage.create(headerOf('a'), { claim: newClaim() })
    const flagged = [
      event(0, {}, { ignorable: true }),
      event(1, {}, { replaces: true }),
      event(2, null, { time: -1.5 }),
    ]
    await append(lease, flagged.map(encodeEvent))
    expect((await readBack(place.open(), 'a')).events).toEqual(flagged)
  },

  'what is read is not what was appended: changing one does not change the other': async ({
    storage,
    expect,
  }) => {
    const data = { list: [1] }
    await append(await storage.create(headerOf('a'), { claim: newClaim() }), [encodeEvent(event(0, data))])
    data.list.push(2)
    expect((await readBack(storage, 'a')).events[0]?.data).toEqual({ list: [1] })
  },
}
