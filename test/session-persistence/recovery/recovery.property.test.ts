import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Carried, SegmentHeader } from '../../../packages/session-persistence/src/journal/header.ts'
import { sealHeader } from '../../../packages/session-persistence/src/journal/header.ts'
import {
  judgeEnd,
  judgeHeader,
  provenBy,
  type EndFacts,
  type Proof,
} from '../../../packages/session-persistence/src/journal/recover.ts'
import { commit, end, facts, join, judge, line, run, salt, tailOf, type Known } from './tails.ts'

const sectorSizeBytes = 512

/** What stands on one line: the data of an event, or the texts of a run. */
type Payload = string | { readonly texts: readonly string[] }

/** The lines of one batch: short and long, so that it takes some sectors. */
const payloads = (minLength: number): fc.Arbitrary<Payload[]> => {
  const long = fc.constant('🌊'.repeat(150))
  const text = fc.oneof(fc.string({ unit: 'binary' }), long)
  const run = fc.record({ texts: fc.array(text, { minLength: 2, maxLength: 5 }) })
  return fc.array(fc.oneof(text, fc.json({ maxDepth: 3 }), run), { minLength, maxLength: 6 })
}

const countOf = (payload: Payload): number => (typeof payload === 'string' ? 1 : payload.texts.length)
const countIn = (all: readonly Payload[]): number => all.reduce((sum, each) => sum + countOf(each), 0)

function batchOf(all: readonly Payload[], from = 5): Buffer {
  let next = from
  const written = all.map((payload) => {
    const seq = next
    next += countOf(payload)
    return typeof payload === 'string' ? line(seq, payload) : run(seq, payload.texts)
  })
  return join(...written, commit(from, next - 1))
}

/** How a write was cut short: at which byte, where in a sector it began, and which sectors were not written. */
const crash = fc.record({
  kept: fc.double({ min: 0, max: 1, noNaN: true }),
  into: fc.nat(sectorSizeBytes - 1),
  unwritten: fc.array(fc.nat(12), { maxLength: 5 }),
})
type Crash = typeof crash extends fc.Arbitrary<infer T> ? T : never

function leftOf(write: Buffer, { kept, into, unwritten }: Crash): Buffer {
  const left = Buffer.from(write.subarray(0, Math.round(kept * write.length)))
  for (const sector of unwritten) {
    const from = Math.min(Math.max(0, sector * sectorSizeBytes - into), left.length)
    left.fill(0, from, Math.min(Math.max(0, (sector + 1) * sectorSizeBytes - into), left.length))
  }
  return left
}

const seqs = fc.integer({ min: -1, max: 9 })
const epochs = fc.integer({ min: 1, max: 5 })
const proof: fc.Arbitrary<Proof> = fc.oneof(
  fc.record({ source: fc.constantFrom('head', 'commit', 'snapshot'), epoch: epochs, seq: seqs }),
  fc.record({ source: fc.constant('receipt'), seq: seqs }),
)
const known: fc.Arbitrary<Known> = fc.record(
  {
    proofs: fc.array(proof, { maxLength: 4 }),
    seals: fc.array(fc.tuple(epochs, seqs), { maxLength: 3 }).map((entries) => new Map(entries)),
    strictSeq: seqs,
    end: fc.record({ firstTo: fc.integer({ min: 4, max: 8 }) }, { requiredKeys: [] }),
  },
  { requiredKeys: [] },
)

/** Bytes that may pass for something, and bytes that cannot. */
const piece = fc.oneof(
  fc.constantFrom('{', '{"seq":5,', '{"seq":6,', '{"commit":{', '\n', '\0', '\0\0\0', 'x', '🌊'),
  fc.integer({ min: 3, max: 8 }).map((seq) => line(seq)),
  fc.integer({ min: 3, max: 8 }).map((seq) => run(seq, ['a', 'b'])),
  fc
    .record({ from: fc.integer({ min: 3, max: 7 }), count: fc.nat(2) })
    .map(({ from, count }) => commit(from, from + count - 1)),
  fc.uint8Array({ maxLength: 20 }),
)
const bytes = fc.array(piece, { maxLength: 6 }).map((pieces) => join(...pieces))

const anything: fc.Arbitrary<EndFacts> = fc.tuple(bytes, known).map((of) => facts(...of))

describe('a state that a crash can leave', () => {
  it('is torn or clean, whatever of one batch was written', () => {
    fc.assert(
      fc.property(payloads(1), crash, (all, how) => {
        const whole = batchOf(all)
        const left = leftOf(whole, how)
        fc.pre(!left.equals(whole))
        expect(judge(left)).toMatch(left.length === 0 ? /^clean$/ : /^(hole|unterminated|uncommitted)$/)
      }),
    )
  })

  it('is void, whatever of a header and a first batch was written', () => {
    fc.assert(
      fc.property(payloads(0), crash, (all, how) => {
        const header = headerOf(countIn(all))
        const whole = join(header, batchOf(all))
        const left = leftOf(whole, how)
        fc.pre(!left.equals(whole))
        const verdict = judgeHeader(left, left.length, false)
        if (verdict.kind !== 'header') {
          expect(verdict.kind).toBe('void')
          return
        }
        expect(join(verdict.line, '\n').equals(header)).toBe(true)
        const of = { end: { firstTo: 4 + countIn(all) } }
        expect(judge(left.subarray(header.length), of)).toMatch(/^(clean|hole|unterminated|uncommitted)$/)
      }),
    )
  })

  it('is not refused for what is proven up to G', () => {
    const upToG = fc
      .array(proof, { maxLength: 4 })
      .map((all) =>
        all.filter((one) => one.seq <= end.seq && !(one.source !== 'receipt' && one.epoch > end.epoch)),
      )
    fc.assert(
      fc.property(payloads(1), crash, upToG, (all, how, proofs) => {
        const whole = batchOf(all)
        const left = leftOf(whole, how)
        fc.pre(!left.equals(whole))
        expect(judge(left, { proofs })).toBe(judge(left))
      }),
    )
  })
})

function headerOf(carriedCount: number): Buffer {
  const writer = {
    incarnation: 'life',
    pid: 1,
    host: 'desk',
    bootId: null,
    startedAt: 1,
    enabledBy: 'env',
  } as const
  const carried: Carried = { to: end.seq + carriedCount, epoch: 2, writer }
  const header: SegmentHeader = {
    format: 1,
    session: { id: 'a', createdAt: 1, meta: { text: '🌊'.repeat(200) } },
    epoch: end.epoch,
    rotation: 0,
    firstSeq: end.seq + 1,
    salt,
    writer,
    predecessor: { segment: '000002-000.jsonl', bytes: 99, seq: end.seq, digest: '0'.repeat(64) },
    ...(carriedCount > 0 && { carried }),
  }
  return join(sealHeader(header).text, '\n')
}

describe('what was acknowledged', () => {
  it('is refused when it lies beyond G, whatever else is there', () => {
    const beyond = fc.integer({ min: 5, max: 9 })
    const evidence = fc.oneof(
      beyond.map((seq) => ({ proofs: [{ source: 'receipt', seq } as const], seals: [] })),
      fc.tuple(beyond, fc.integer({ min: 3, max: 6 })).map(([seq, epoch]) => ({
        proofs: [{ source: 'head', epoch, seq } as const],
        seals: [],
      })),
      fc.tuple(beyond, beyond).map(([seq, seal]) => ({
        proofs: [{ source: 'snapshot', epoch: 2, seq } as const],
        seals: [[2, seal] as const],
      })),
    )
    fc.assert(
      fc.property(anything, evidence, (all, { proofs, seals }) => {
        const more = { proofs: [...all.proofs, ...proofs], seals: new Map([...all.seals, ...seals]) }
        const verdict = judgeEnd({ ...all, ...more })
        expect(verdict).toMatchObject({ kind: 'refused', rule: 'R3' })
        expect(verdict.durable.seq).toBeGreaterThan(end.seq)
      }),
    )
  })

  it('is not read as torn when a byte of it changed and another batch was begun after it', () => {
    const part = fc.double({ min: 0, max: 1, noNaN: true })
    fc.assert(
      fc.property(payloads(1), part, fc.integer({ min: 1, max: 255 }), part, (all, where, to, kept) => {
        const damaged = batchOf(all)
        const at = Math.floor(where * (damaged.length - 1))
        fc.pre(damaged[at] !== to)
        damaged[at] = to
        const next = batchOf(['next'], 5 + countIn(all))
        const bytesKept = 1 + Math.floor(kept * (next.length - 1))
        expect(judge(join(damaged, next.subarray(0, bytesKept)))).toMatch(/^R\d$/)
      }),
      { numRuns: 500 },
    )
  })
})

describe('more evidence', () => {
  const more = fc.oneof<fc.Arbitrary<(all: EndFacts) => EndFacts>[]>(
    proof.map((one) => (all) => ({ ...all, proofs: [...all.proofs, one] })),
    seqs.map((seq) => ({ strictSeq = seq === end.seq ? undefined : seq, ...all }) => ({
      ...all,
      ...(strictSeq !== undefined && { strictSeq }),
    })),
    seqs.map((seq) => (all) => {
      const durableMax = Math.max(all.tail.commits.durableMax, seq)
      return { ...all, tail: { ...all.tail, commits: { ...all.tail.commits, durableMax } } }
    }),
    seqs.map((seq) => (all) => {
      const followedTo = Math.max(all.tail.commits.followedTo ?? -1, seq)
      return { ...all, tail: { ...all.tail, commits: { ...all.tail.commits, followedTo } } }
    }),
  )

  it('never makes what was refused acceptable, but for a strict head that says D = G', () => {
    fc.assert(
      fc.property(anything, more, (all, add) => {
        const before = judgeEnd(all)
        const after = judgeEnd(add(all))
        if (before.kind === 'refused') expect(after.kind).toBe('refused')
        expect(after.durable.seq).toBeGreaterThanOrEqual(before.durable.seq)
      }),
      { numRuns: 1_000 },
    )
  })

  it('by a strict head that says D = G turns R7 alone into torn', () => {
    fc.assert(
      fc.property(anything, ({ strictSeq: _, ...all }) => {
        const before = judgeEnd(all)
        const after = judgeEnd({ ...all, strictSeq: end.seq })
        if (before.kind !== 'refused') return
        const expected = before.rule === 'R7' && all.end.firstTo === undefined ? 'torn' : 'refused'
        expect(after.kind).toBe(expected)
      }),
      { numRuns: 1_000 },
    )
  })
})

describe('no bytes and no facts', () => {
  it('make the rule throw, and the same ones get the same verdict', () => {
    const numbers = fc.oneof(fc.integer(), fc.constantFrom(-1, 0, Infinity, 2 ** 53))
    const foreign = fc.record({
      tail: bytes.map(tailOf),
      sizeBytes: fc.oneof(fc.nat(100), numbers),
      seq: numbers,
    })
    fc.assert(
      fc.property(anything, foreign, (all, { tail, sizeBytes, seq }) => {
        const strange = { ...all, end: { ...all.end, seq }, tail: { ...tail, sizeBytes } }
        for (const each of [all, strange]) {
          const verdict = judgeEnd(each)
          expect(['clean', 'torn', 'refused']).toContain(verdict.kind)
          expect(judgeEnd(each)).toEqual(verdict)
          expect(provenBy(each)).toEqual(verdict.durable)
        }
      }),
      { numRuns: 1_000 },
    )
  })

  it('make the rule of the header throw', () => {
    const starts = fc.constantFrom('', '{"segment":{', 'x', '\0', '\n')
    fc.assert(
      fc.property(starts, bytes, fc.nat(100), fc.boolean(), (start, rest, moreBytes, hasHead) => {
        const all = join(start, rest)
        const verdict = judgeHeader(all, all.length + moreBytes, hasHead)
        expect(['header', 'void', 'unfit']).toContain(verdict.kind)
        if (hasHead) expect(verdict.kind).not.toBe('void')
      }),
    )
  })

  it('are too deep for it', () => {
    const deep = '[{"a":'.repeat(500_000)
    expect(judge(`{"seq":5,"data":${deep}`)).toBe('unterminated')
    expect(judge(`{"seq":5,"data":${deep}\n`)).toBe('R7')
  })
})
