import type { AnySessionEvent } from '@tidemark/session-core'
import { decodeEvent, encodeEvent, linesOf } from '@tidemark/session-persistence'
import { JournalStorage } from '@tidemark/session-persistence/journal'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  packRuns,
  runCountMax,
  seqsIn,
  unpackLine,
} from '../../../packages/session-persistence/src/journal/runs.ts'
import { append, appendNext, event, headerOf, newClaim, readBack } from '../batches.ts'
import { MemoryPort } from './memory-port.ts'

const chunk = (seq: number, text: string, more: Partial<AnySessionEvent> = {}): AnySessionEvent => ({
  seq,
  time: 1_000 + seq,
  type: 'assistant/chunk',
  data: { kind: 'text', text },
  ignorable: true,
  ...more,
})

const packed = (events: readonly AnySessionEvent[]): readonly string[] => packRuns(events.map(encodeEvent))
const unpacked = (lines: readonly string[]): AnySessionEvent[] =>
  lines.flatMap((line) => unpackLine(JSON.parse(line)) ?? [])
const texts = (events: readonly AnySessionEvent[]): string[] => events.map((each) => encodeEvent(each).json)

describe('a run', () => {
  it('holds the pieces of a stream that follow each other, on one line', () => {
    const events = [
      chunk(7, 'Hel'),
      chunk(8, 'lo ', { time: 1_050 }),
      chunk(9, '', { time: 900 }),
      event(10, 'x'),
    ]
    const lines = packed(events)
    expect(lines).toEqual([
      '{"seq":7,"time":1007,"type":"assistant/chunk","data":{"kind":"text"},"run":{"dt":[43,-150],"text":["Hel","lo ",""]}}\n',
      `${encodeEvent(event(10, 'x')).json}\n`,
    ])
    expect(unpacked(lines)).toEqual(events)
  })

  it('holds what all of its events say besides', () => {
    const of = (seq: number, meta: unknown): AnySessionEvent =>
      chunk(seq, 'a', { data: { kind: 'call', text: `${seq}`, meta } })
    const events = [of(0, { step: 1, 'a\n': [null] }), of(1, { step: 1, 'a\n': [null] }), of(2, { step: 2 })]
    const lines = packed(events)
    expect(lines).toHaveLength(2)
    expect(lines[0]).toContain('"data":{"kind":"call","meta":{"step":1,"a\\n":[null]}},"run":')
    expect(unpacked(lines)).toEqual(events)
  })

  it('holds at most 1,024 events', () => {
    const events = Array.from({ length: 2 * runCountMax + 1 }, (_, seq) => chunk(seq, 'x'))
    expect(packed(events.slice(0, runCountMax))).toHaveLength(1)
    expect(packed(events).map((line) => seqsIn(line.trimEnd()))).toEqual([
      { from: 0, to: 1_023 },
      { from: 1_024, to: 2_047 },
      { from: 2_048, to: 2_048 },
    ])
  })

  it.each<[what: string, other: Partial<AnySessionEvent>]>([
    ['another type', { type: 'x/chunk' }],
    ['one that readers must know', { ignorable: undefined as never }],
    ['one that replaces', { replaces: true }],
    ['a fraction of a millisecond', { time: 0.5 }],
    ['a time that is no exact integer', { time: 2 ** 53 }],
    ['a difference that is none', { time: -Number.MAX_SAFE_INTEGER }],
    ['another kind', { data: { kind: 'reasoning', text: 'b' } }],
    ['a kind that is no text', { data: { kind: null, text: 'b' } }],
    ['a text that is none', { data: { kind: 'text', text: 0 } }],
    ['another order', { data: { text: 'b', kind: 'text' } }],
    ['a meta before the text', { data: { kind: 'text', meta: {}, text: 'b' } }],
    ['a meta that the others have not', { data: { kind: 'text', text: 'b', meta: {} } }],
    ['a member of another name', { data: { kind: 'text', text: 'b', more: {} } }],
    ['one member more', { data: { kind: 'text', text: 'b', meta: {}, more: {} } }],
    ['an own __proto__', { data: JSON.parse('{"kind":"text","text":"b","__proto__":1}') }],
    ['no object', { data: 'b' }],
    ['null', { data: null }],
    ['a list', { data: ['text', 'b'] }],
  ])('does not hold %s, which stands on a line of its own', (_, other) => {
    const events = [chunk(0, 'a'), chunk(1, 'a'), chunk(2, 'b', other), chunk(3, 'c'), chunk(4, 'd')]
    const lines = packed(events)
    expect(lines[1]).toBe(`${encodeEvent(events[2]!).json}\n`)
    expect(lines).toHaveLength(3)
    expect(texts(unpacked(lines))).toEqual(texts(events))
  })

  it('does not hold a payload that says itself what its text is', () => {
    class Piece {
      kind = 'text'
      text = 'a'
      toJSON(): unknown {
        return { kind: 'text', text: 'other' }
      }
    }
    const events = [0, 1].map((seq) => chunk(seq, '', { data: new Piece() }))
    expect(unpacked(packed(events)).map(({ data }) => data)).toEqual([
      { kind: 'text', text: 'other' },
      { kind: 'text', text: 'other' },
    ])
    expect(packed(events)).toHaveLength(2)
  })
})

/** Texts, times and payloads that a careless packer loses. */
const hostileText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 12 }),
  fc.constantFrom('', '\0', '\u2028', '\ud83c', '\udf0a', '🌊', '\n{"seq":1,', '{"commit":{', '"]}}'),
)
const hostileTime = fc.oneof(
  fc.integer({ min: 1_000, max: 1_100 }),
  fc.constantFrom(0, -1, 0.1, -7.5, 2 ** 53, -(2 ** 53), 2 ** 53 - 1, 1 - 2 ** 53, 1e300, 5e-324),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((time) => time + 0),
)
const meta = fc.constantFrom<unknown>({}, { a: 1, b: 2 }, { b: 2, a: 1 }, JSON.parse('{"__proto__":{"a":1}}'))
const data = fc.oneof(
  fc.record({ kind: fc.constantFrom('text', 'reasoning'), text: hostileText }),
  fc.tuple(hostileText, meta).map(([text, own]) => ({ kind: 'text', text, meta: own })),
  fc.tuple(hostileText, meta).map(([text, own]) => ({ meta: own, text, kind: 'text' })),
  fc.json().map((json) => JSON.parse(json) as unknown),
)
const anyEvent = fc.record({
  time: hostileTime,
  type: fc.constantFrom('assistant/chunk', 'assistant/chunk', 'assistant/chunk', 'x/y'),
  data,
  flags: fc.constantFrom<Partial<AnySessionEvent>>({ ignorable: true }, { ignorable: true }, {}),
})
const anyBatch = fc
  .tuple(fc.nat(1_000), fc.array(anyEvent, { minLength: 1, maxLength: 30 }))
  .map(([from, all]) =>
    all.map(({ flags, ...each }, index): AnySessionEvent => ({ seq: from + index, ...each, ...flags })),
  )

describe('whatever an append accepts', () => {
  it('comes back from its lines as the same text, event by event', () => {
    fc.assert(
      fc.property(anyBatch, (events) => {
        const lines = packed(events)
        for (const line of lines) expect(line.indexOf('\n')).toBe(line.length - 1)
        const found = unpacked(lines)
        expect(texts(found)).toEqual(texts(events))
        expect(found).toEqual(texts(events).map(decodeEvent))
        const spans = lines.map((line) => seqsIn(line.slice(0, -1)))
        expect(spans.reduce((sum, { from, to }) => sum + to - from + 1, 0)).toBe(events.length)
      }),
      { numRuns: 1_000 },
    )
  })

  it('takes no more bytes in runs than on lines of its own', () => {
    fc.assert(
      fc.property(anyBatch, (events) => {
        const plain = linesOf(events.map(encodeEvent)).length
        expect(Buffer.byteLength(packed(events).join(''))).toBeLessThanOrEqual(plain)
      }),
      { numRuns: 1_000 },
    )
    const far = Number.MAX_SAFE_INTEGER
    const wide = [chunk(0, '', { time: 0 }), chunk(1, '', { time: far }), chunk(2, '', { time: 0 })]
    expect(packed(wide)).toHaveLength(1)
    expect(packed(wide).join('').length).toBeLessThan(linesOf(wide.map(encodeEvent)).length)
  })
})

describe('a line that no writer makes', () => {
  const good = JSON.parse(packed([chunk(7, 'a'), chunk(8, 'b')])[0]!)
  const { run } = good
  it.each<[what: string, line: unknown]>([
    ['fewer times than texts', { ...good, run: { ...run, dt: [] } }],
    ['more times than texts', { ...good, run: { ...run, dt: [1, 1] } }],
    ['one text', { ...good, run: { dt: [], text: ['a'] } }],
    ['no text', { ...good, run: { dt: [], text: [] } }],
    ['too many texts', { ...good, run: { dt: Array(1_024).fill(0), text: Array(1_025).fill('') } }],
    ['a text that is none', { ...good, run: { ...run, text: ['a', null] } }],
    ['a difference that is no integer', { ...good, run: { ...run, dt: [0.5] } }],
    ['a difference as text', { ...good, run: { ...run, dt: ['1'] } }],
    ['a time that is none', { ...good, time: '7' }],
    ['a time that is no integer', { ...good, time: 0.5 }],
    ['a time that runs over', { ...good, time: Number.MAX_SAFE_INTEGER }],
    ['a seq that runs over', { ...good, seq: Number.MAX_SAFE_INTEGER }],
    ['a seq that is none', { ...good, seq: '7' }],
    ['texts that are no list', { ...good, run: { ...run, text: { length: 2 } } }],
    ['a run that is none', { ...good, run: null }],
    ['a run with more in it', { ...good, run: { ...run, more: 1 } }],
    ['a run in another order', { ...good, run: { text: run.text, dt: run.dt } }],
    ['another type', { ...good, type: 'x/y' }],
    ['a flag', { ...good, ignorable: true }],
    ['a text in its data', { ...good, data: { kind: 'text', text: 'a' } }],
    ['more in its data', { ...good, data: { kind: 'text', meta: {}, more: 1 } }],
    ['no kind', { ...good, data: {} }],
    ['no data', { ...good, data: null }],
    ['a list', [good]],
    ['a number', 7],
    ['null', null],
  ])('%s: is none', (_, line) => {
    expect(unpackLine(good)).toHaveLength(2)
    expect(unpackLine(line)).toBe(undefined)
    expect(seqsIn(JSON.stringify(line))).toEqual({ from: NaN, to: NaN })
  })
})

describe('a session in a journal', () => {
  const stream = (from: number, count: number): AnySessionEvent[] =>
    Array.from({ length: count }, (_, index) => chunk(from + index, `piece ${from + index}`))

  async function written(): Promise<{
    port: MemoryPort
    events: AnySessionEvent[]
    open: () => JournalStorage
  }> {
    const port = new MemoryPort()
    const open = (): JournalStorage => new JournalStorage({ root: '/journal', port })
    const events = [event(0, 'x'), ...stream(1, 5), event(6, 'y'), ...stream(7, 3), ...stream(10, 4)]
    const lease = await open().create(headerOf('a'), {
      claim: newClaim(),
      seed: events.slice(0, 4).map(encodeEvent),
    })
    await append(lease, events.slice(4, 10).map(encodeEvent))
    await append(lease, events.slice(10).map(encodeEvent))
    await lease.release()
    return { port, events, open }
  }
  const segmentIn = (port: MemoryPort): [path: string, content: Buffer] =>
    [...port.files()].find(([path]) => path.endsWith('000001-000.jsonl'))!

  it('gives out events and never runs, and no run crosses a batch', async () => {
    const { port, events, open } = await written()
    expect((await readBack(open(), 'a')).events).toEqual(events)
    const lines = segmentIn(port)[1].toString().split('\n')
    const runs = lines.filter((line) => line.includes('"run":{')).map((line) => seqsIn(line))
    expect(runs).toEqual([
      { from: 1, to: 3 },
      { from: 4, to: 5 },
      { from: 7, to: 9 },
      { from: 10, to: 13 },
    ])
  })

  it('is read from and through a seq inside a run, and forked there', async () => {
    const { events, open } = await written()
    for (const from of [2, 8, 11]) {
      const found: AnySessionEvent[] = []
      const { batches } = await open().read('a', { from, through: 12 })
      for await (const batch of batches) found.push(...batch.events)
      expect(found).toEqual(events.slice(from, 13))
    }
    const storage = open()
    const child = await storage.fork({ id: 'a', through: 11 }, headerOf('b'), newClaim())
    await appendNext(child, 3)
    expect((await readBack(storage, 'b')).events.slice(0, 12)).toEqual(events.slice(0, 12))
  })

  it('recognises a batch of runs that comes again', async () => {
    const { open } = await written()
    const lease = await open().acquire('a', { claim: newClaim() })
    const batch = stream(14, 3).map(encodeEvent)
    const { tail } = await append(lease, batch, 'again')
    expect((await append(lease, batch, 'again')).tail).toEqual(tail)
  })

  it('is salvaged event by event, proven where its commit is, and not where a run is damaged', async () => {
    const { port, events, open } = await written()
    const [path, content] = segmentIn(port)
    const at = content.indexOf('piece 8')
    for (const [damaged, kept] of [
      [Buffer.from(content).fill('P', at, at + 1), events],
      [Buffer.from(content).fill('\0', at, at + 1), events.filter(({ seq }) => seq < 7 || seq > 9)],
    ] as const) {
      port.put(path, damaged)
      const records: AnySessionEvent[] = []
      const proven: number[] = []
      for await (const record of (await open().salvage('a')).records) {
        records.push(record.event)
        if (record.isProven) proven.push(record.event.seq)
      }
      expect(records.map(({ seq }) => seq)).toEqual(kept.map(({ seq }) => seq))
      expect(proven).toEqual([0, 1, 2, 3, 10, 11, 12, 13])
    }
  })
})
