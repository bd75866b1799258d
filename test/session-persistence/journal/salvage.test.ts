import { JournalStorage } from '@tidemark/session-persistence/journal'
import type { Lease } from '@tidemark/session-persistence'
import type { SessionError } from '@tidemark/session-core'
import { beforeEach, describe, expect, it } from 'vitest'
import { longestRising } from '../../../packages/session-persistence/src/journal/rising.ts'
import { Seeded } from '../../../packages/session-persistence/src/testkit/seeded.ts'
import { append, events, headerOf, newClaim, readBack, upTo } from '../batches.ts'
import { codeOf } from '../refusal.ts'
import { MemoryPort } from './memory-port.ts'

const folder = '/journal/sessions/s-a'
const segment = (epoch: number): string => `${folder}/00000${epoch}-000.jsonl`

let disk: MemoryPort
const open = (): JournalStorage => new JournalStorage({ root: '/journal', port: disk })
const claim = (): Promise<Lease> => open().acquire('a', { claim: newClaim(), force: true })

/** Twenty batches of five events, closed. */
beforeEach(async () => {
  disk = new MemoryPort()
  const lease = await open().create(headerOf('a'), { claim: newClaim() })
  for (const batch of upTo(20)) await append(lease, events(batch * 5, batch * 5 + 4))
  await lease.release()
})

function edit(change: (text: string) => string, epoch = 1): void {
  const content = disk.files().get(segment(epoch))!
  disk.put(segment(epoch), Buffer.from(change(content.toString('latin1')), 'latin1'))
}

async function salvaged(): Promise<{ proven: number[]; unproven: number[] }> {
  const proven: number[] = []
  const unproven: number[] = []
  for await (const { event, isProven } of (await open().salvage('a')).records) {
    // What is given stands at its own seq, or was never written.
    if (event.seq < 100) expect(event.data).toEqual({ n: event.seq })
    ;(isProven ? proven : unproven).push(event.seq)
  }
  return { proven, unproven }
}

const all = upTo(100)
const but = (...seqs: number[]): number[] => all.filter((seq) => !seqs.includes(seq))
const line = (seq: number): string =>
  `{"seq":${seq},"time":${1_000 + seq},"type":"test/event","data":{"n":${seq}}}\n`
const commitOf = (text: string, from: number): string =>
  text.slice(text.indexOf(`{"commit":{"from":${from},`)).split('\n')[0]!

describe('a seq that is wrong', () => {
  it.each([
    ['a bit of it', '{"seq":10,', '{"seq":90,'],
    ['a wild one', '{"seq":1,', '{"seq":9e5,'],
    ['a negative one', '{"seq":7,', '{"seq":-7,'],
  ])('%s: where nothing else is, its place and the digest give it back', async (_, right, wrong) => {
    edit((text) => text.replace(right, wrong))
    expect(await salvaged()).toEqual({ proven: all, unproven: [] })
  })

  it('G24: in a batch that is damaged otherwise, costs its own event and no other', async () => {
    edit((text) => text.replace('{"seq":10,', '{"seq":90,').replace('{"n":12}', '{"n":12'))
    const found = await salvaged()
    expect(found.unproven).toEqual([11, 13, 14])
    expect(found.proven).toEqual(but(10, 11, 12, 13, 14))
  })

  it('without a header, whose salt proves the commits, costs its own event and no other', async () => {
    edit((text) => text.replace('"rotation":0', '"rotation":9').replace('{"seq":10,', '{"seq":90,'))
    expect(await salvaged()).toEqual({ proven: [], unproven: but(10) })
  })

  it('at an end that nothing bounds is not believed unless what is missing can have been there', async () => {
    edit((text) => {
      const kept = text.slice(0, text.indexOf(commitOf(text, 95)))
      return kept.replace('{"seq":99,', '{"seq":900000,')
    })
    expect((await salvaged()).unproven).toEqual([95, 96, 97, 98])
    edit((text) => text.replace(line(98), `${'#'.repeat(line(98).length - 1)}\n`).replace('900000', '99'))
    expect((await salvaged()).unproven).toEqual([95, 96, 97, 99])
  })
})

describe('an end of line that is lost', () => {
  it.each([
    ['between two events', (text: string) => text.replace(line(10), line(10).trimEnd())],
    ['before a commit', (text: string) => text.replace(line(14), line(14).trimEnd())],
    ['after a commit', (text: string) => text.replace(`${commitOf(text, 10)}\n`, commitOf(text, 10))],
    ['and is another byte', (text: string) => text.replace(line(10), `${line(10).trimEnd()}*`)],
    ['in a hole', (text: string) => text.replace(line(10), `${line(10).trimEnd()}${'\0'.repeat(512)}`)],
  ])('%s costs nothing', async (_, change) => {
    edit(change)
    expect(await codeOf(() => readBack(open(), 'a'))).toBe('CORRUPT')
    expect(await salvaged()).toEqual({ proven: all, unproven: [] })
  })

  it('after the header costs the proof of the segment, and no event', async () => {
    edit((text) => text.replace('\n', ''))
    expect(await salvaged()).toEqual({ proven: [], unproven: all })
  })

  it('is not looked for in a line that is damaged, which may quote others', async () => {
    const quoted = `{"seq":10,"time":1,"type":"x","data":[${line(11).trimEnd()},${line(12).trimEnd()}`
    edit((text) => text.replace(line(10), `${quoted}\n`))
    expect(await salvaged()).toEqual({ proven: but(10, 11, 12, 13, 14), unproven: [11, 12, 13, 14] })
  })
})

describe('a commit that is damaged', () => {
  it('costs nothing where the next one is whole', async () => {
    edit((text) => text.replace('{"commit":{"from":10,', '{"commit":{"from":1O,'))
    expect(await salvaged()).toEqual({ proven: all, unproven: [] })
  })

  it('with an event of its batch costs the proof of that batch', async () => {
    edit((text) =>
      text.replace('{"commit":{"from":10,', '{"commit":{"from":1O,').replace('{"n":12}', '{"n":12'),
    )
    expect(await salvaged()).toEqual({ proven: but(10, 11, 12, 13, 14), unproven: [10, 11, 13, 14] })
  })

  it('that stands twice, or with its batch, adds nothing', async () => {
    const once = disk.files().get(segment(1))!.toString('latin1')
    edit((text) => text.replace(commitOf(text, 10), `${commitOf(text, 10)}\n${commitOf(text, 10)}`))
    expect(await salvaged()).toEqual({ proven: all, unproven: [] })
    const batch = once.slice(once.indexOf(line(5)), once.indexOf(line(10)))
    edit(() => once.replace(line(30), batch + line(30)))
    expect(await salvaged()).toEqual({ proven: all, unproven: [] })
  })
})

describe('a batch that was written again', () => {
  /** Nothing says that the last batch was durable: the next claim writes it again. */
  beforeEach(async () => {
    await disk.unlink(`${folder}/head-000001`)
    const lease = await claim()
    await append(lease, events(100, 101))
    await lease.release()
  })
  const carried = '{"seq":95,'

  it('stands in the old segment, too: what is damaged in the new one is proven there', async () => {
    expect(disk.files().get(segment(2))!.includes(carried)).toBe(true)
    expect(await salvaged()).toEqual({ proven: [...all, 100, 101], unproven: [] })
    edit((text) => {
      const [from, to] = [text.indexOf(carried), text.indexOf(line(99))]
      return text.slice(0, from) + '\0'.repeat(to - from) + text.slice(to)
    }, 2)
    expect(await salvaged()).toEqual({ proven: [...all, 100, 101], unproven: [] })
  })

  it('G20: can be read up to its end, as verify says, although the new copy is damaged', async () => {
    edit((text) => text.replace('{"n":97}', '{"n":79}'), 2)
    const before = disk.files()
    const verdict = await open().verify('a')
    expect(verdict).toMatchObject({ kind: 'damaged', rule: 'R3', intactThrough: 99 })
    for (const through of [50, 94, 97, 99]) {
      const seqs: number[] = []
      const { header, batches } = await open().read('a', { through })
      for await (const batch of batches) seqs.push(...batch.events.map(({ seq }) => seq))
      expect([header, seqs]).toEqual([headerOf('a'), upTo(through + 1)])
    }
    const read = async (through?: number) => {
      const { batches } = await open().read('a', through === undefined ? {} : { through })
      for await (const _ of batches);
    }
    expect(await codeOf(() => read(100))).toBe('CORRUPT')
    expect(await codeOf(() => read())).toBe('CORRUPT')
    expect(disk.files()).toEqual(before)
    await open().fork({ id: 'a', through: 99 }, headerOf('b'), newClaim())
    expect((await readBack(open(), 'b')).events).toHaveLength(100)
  })
})

describe('what a writer appended after the log had gone on without it', () => {
  it('is not of the log: no salvage, no verdict and no repair takes it up', async () => {
    const late = disk.files().get(segment(1))!
    // The log as it was one batch before, from which another writer went on.
    edit((text) => text.slice(0, text.indexOf(line(95))))
    await disk.unlink(`${folder}/head-000001`)
    const lease = await claim()
    await append(lease, [events(95, 95)[0]!])
    await append(lease, [events(96, 96)[0]!])
    await lease.release()
    disk.put(segment(1), late)
    expect((await salvaged()).proven).toEqual(upTo(97))
    edit((text) => text.replace('{"n":95}', '{"n":95'), 2)
    expect((await salvaged()).proven).toEqual([...upTo(95), 96])
    expect(await open().verify('a')).toMatchObject({ kind: 'damaged', intactThrough: 94 })
    const repair = (acceptLossAfter: number) => open().repair('a', { claim: newClaim(), acceptLossAfter })
    expect(await codeOf(() => repair(99))).toBe('INVALID_SEQ')
    expect((await repair(94)).lastSeq).toBe(94)
  })
})

describe('one damage, anywhere', () => {
  const damages: Record<string, (content: Buffer, at: number, bit: number) => Buffer> = {
    'a bit': (content, at, bit) => {
      const changed = Buffer.from(content)
      changed[at] = changed[at]! ^ (1 << bit)
      return changed
    },
    'a byte that is gone': (content, at) =>
      Buffer.concat([content.subarray(0, at), content.subarray(at + 1)]),
    'a hole': (content, at) => Buffer.from(content).fill(0, at, Math.min(at + 512, content.length)),
    'bytes put in': (content, at) =>
      Buffer.concat([content.subarray(0, at), Buffer.alloc(512), content.subarray(at)]),
    'a cut': (content, at) => content.subarray(0, at),
    'a line that is gone': (content, at) => {
      const [from, to] = [content.lastIndexOf(10, at) + 1, content.indexOf(10, at) + 1]
      return Buffer.concat([content.subarray(0, from), content.subarray(to)])
    },
    'a line that stands twice': (content, at) => {
      const [from, to] = [content.lastIndexOf(10, at) + 1, content.indexOf(10, at) + 1]
      return Buffer.concat([content.subarray(0, to), content.subarray(from)])
    },
    'a lost end of line': (content, at) => {
      const to = content.indexOf(10, at)
      return Buffer.concat([content.subarray(0, to), content.subarray(to + 1)])
    },
  }

  /** Three epochs; the second begins with the last batch of the first. */
  async function threeEpochs(): Promise<void> {
    await disk.unlink(`${folder}/head-000001`)
    for (const from of [100, 110]) {
      const lease = await claim()
      for (const seq of [from, from + 5]) await append(lease, events(seq, seq + 4))
      await lease.release()
    }
  }

  it.each(Object.keys(damages))(
    '%s: G24: each event whose line can be read is salvaged, and what is proven is as it was written',
    async (kind) => {
      await threeEpochs()
      const sound = disk.copy()
      for (let round = 0; round < 30; round++) {
        const random = Seeded.of(round, kind)
        disk = sound.copy()
        const path = segment(1 + random.below(3))
        const content = disk.files().get(path)!
        disk.put(path, damages[kind]!(content, random.below(content.length), random.below(8)))
        const where = `${kind}, round ${round}`
        const readable = new Set(
          [...disk.files()].flatMap(([name, bytes]) =>
            name.endsWith('.jsonl') ? bytes.toString().split('\n') : [],
          ),
        )
        const given: number[] = []
        for await (const { event, isProven } of (await open().salvage('a')).records) {
          given.push(event.seq)
          if (isProven) expect(`${JSON.stringify(event)}\n`, where).toBe(line(event.seq))
        }
        expect(given, where).toEqual([...new Set(given)].sort((a, b) => a - b))
        for (const seq of upTo(120))
          if (readable.has(line(seq).trimEnd())) expect(given, `${where}, seq ${seq}`).toContain(seq)
        const verdict = await open().verify('a')
        const intact = verdict.kind === 'damaged' ? verdict.intactThrough! : verdict.tail.seq
        if (intact < 0) continue
        const log = await open()
          .read('a', { through: intact })
          .catch((error: unknown) => error as SessionError)
        if ('code' in log) {
          // Where a header cannot be read nothing says how far the one before it counts.
          expect(log.details.offset ?? 0, where).toBe(0)
          expect(['R1', 'R2', 'R8'], where).toContain(log.details.rule)
          continue
        }
        const { batches } = log
        const texts: string[] = []
        for await (const batch of batches)
          texts.push(...batch.events.map((each) => `${JSON.stringify(each)}\n`))
        expect(texts, where).toEqual(upTo(intact + 1).map(line))
      }
    },
  )
})

describe('the longest rising choice', () => {
  const spans = (...firsts: number[]) => firsts.map((first) => ({ first, last: first }))
  it('leaves out as few as it can, and ends as low as it can', () => {
    expect(longestRising(spans(0, 90, 1, 2, 3))).toEqual(spans(0, 1, 2, 3))
    expect(longestRising(spans(0, 1, 5, 3))).toEqual(spans(0, 1, 3))
    expect(longestRising(spans(5, 4, 3))).toEqual(spans(3))
    expect(longestRising([])).toEqual([])
  })
  it('chooses nothing that overlaps', () => {
    const wide = { first: 1, last: 8 }
    expect(longestRising([...spans(0), wide, ...spans(4, 5, 9)])).toEqual(spans(0, 4, 5, 9))
    expect(longestRising([...spans(0), wide, ...spans(8, 9)])).toEqual([...spans(0), wide, ...spans(9)])
  })
})
