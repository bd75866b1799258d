import { describe, expect, it } from 'vitest'
import {
  judgeEnd,
  provenBy,
  type Durable,
  type Proof,
} from '../../../packages/session-persistence/src/journal/recover.ts'
import { batchSizeBytesMax } from '../../../packages/session-persistence/src/journal/size.ts'
import { batch, changed, commit, facts, holed, join, judge, line, zeros, type Known } from './tails.ts'

const head = (seq: number, epoch = 3): Proof => ({ source: 'head', epoch, seq })
const snapshot = (seq: number, epoch = 3): Proof => ({ source: 'snapshot', epoch, seq })
const committed = (seq: number, epoch = 3): Proof => ({ source: 'commit', epoch, seq })
const receipt = (seq: number): Proof => ({ source: 'receipt', seq })

/** The whole batches end at seq 4; epoch 3 goes on from epoch 2, which it sealed at seq 1. */
const seals = new Map([[2, 1]])

const proven = (known: Known, bytes: Buffer | string = ''): Durable => provenBy(facts(bytes, known))

describe('D, the highest seq that is proven durable', () => {
  it.each<[what: string, proofs: readonly Proof[], durable: Durable]>([
    ['nothing', [], { seq: -1, by: 'nothing' }],
    ['a head', [head(3)], { seq: 3, by: 'head' }],
    ['a snapshot', [snapshot(3)], { seq: 3, by: 'snapshot' }],
    ['a commit', [committed(3)], { seq: 3, by: 'commit' }],
    ['a receipt', [receipt(3)], { seq: 3, by: 'receipt' }],
    ['the highest of them', [head(1), receipt(3), snapshot(2)], { seq: 3, by: 'receipt' }],
    ['the first of two that say the same', [head(3), receipt(3)], { seq: 3, by: 'head' }],
    ['a sealed epoch below its seal', [head(0, 2)], { seq: 0, by: 'head' }],
    ['a sealed epoch up to its seal', [head(1, 2)], { seq: 1, by: 'head' }],
    ['a sealed epoch no further than its seal', [head(9, 2)], { seq: 1, by: 'head' }],
    ['a sealed epoch whose snapshot is beyond its seal', [snapshot(9, 2)], { seq: 1, by: 'snapshot' }],
    ['a receipt beyond every seal', [receipt(9)], { seq: 9, by: 'receipt' }],
    ['no epoch beside the chain that is lower', [head(9, 1)], { seq: -1, by: 'nothing' }],
    ['an epoch beside the chain that is higher', [head(9, 4)], { seq: 9, by: 'head' }],
  ])('is what is said by %s', (_, proofs, durable) => {
    expect(proven({ proofs, seals })).toEqual(durable)
  })

  it('is the end of the last batch where it is within it', () => {
    const lastFrom = 2
    expect(proven({ end: { lastFrom }, proofs: [receipt(1)] })).toEqual({ seq: 1, by: 'receipt' })
    for (const seq of [2, 3, 4])
      expect(proven({ end: { lastFrom }, proofs: [receipt(seq)] })).toEqual({ seq: 4, by: 'receipt' })
    expect(proven({ end: { lastFrom }, proofs: [receipt(5)] })).toEqual({ seq: 5, by: 'receipt' })
    expect(proven({ end: { lastFrom: 5 }, proofs: [receipt(3)] })).toEqual({ seq: 3, by: 'receipt' })
  })

  it('is what a strict head says', () => {
    expect(proven({ strictSeq: 2 })).toEqual({ seq: 2, by: 'head' })
    expect(proven({ strictSeq: 2, proofs: [receipt(3)] })).toEqual({ seq: 3, by: 'receipt' })
  })

  it('is what any commit beyond G says, also when its batch is damaged', () => {
    const bytes = join('no JSON\n', commit(7, 9, { durable: 6 }), 'no JSON\n', commit(1, 1, { durable: 0 }))
    expect(proven({}, bytes)).toEqual({ seq: 9, by: 'commit' })
    expect(proven({}, commit(7, 9, { durable: 6 }))).toEqual({ seq: 6, by: 'commit' })
  })

  it('is nothing that a commit says which does not prove itself', () => {
    expect(proven({}, changed(commit(7, 9), -20))).toEqual({ seq: -1, by: 'nothing' })
  })

  it('is as far as a commit that anything but zeros follows', () => {
    expect(proven({}, commit(5, 6))).toEqual({ seq: 4, by: 'commit' })
    expect(proven({}, join(commit(5, 6), zeros(512)))).toEqual({ seq: 4, by: 'commit' })
    expect(proven({}, join(commit(5, 6), 'x'))).toEqual({ seq: 6, by: 'commit' })
    expect(proven({}, join(commit(5, 6), zeros(512), 'x'))).toEqual({ seq: 6, by: 'commit' })
    expect(proven({ strictSeq: 4 }, join(commit(5, 6), 'x'))).toEqual({ seq: 6, by: 'commit' })
  })
})

describe('R3: a log that ends before D is refused', () => {
  it.each<[what: string, known: Known]>([
    ['a head', { proofs: [head(5)] }],
    ['N06: a snapshot', { proofs: [snapshot(5)] }],
    ['a commit', { proofs: [committed(5)] }],
    ['a receipt', { proofs: [receipt(5)] }],
    ['a strict head', { strictSeq: 5 }],
    ['a head of a sealed epoch', { proofs: [head(9, 2)], seals: new Map([[2, 5]]) }],
    ['a head of a later epoch', { proofs: [head(5, 4)] }],
  ])('by %s, whatever follows G', (_, known) => {
    const { durable } = judgeEnd(facts('', known))
    expect(durable.seq).toBe(5)
    for (const bytes of ['', '{"seq":5,', 'no JSON\n', zeros(9), zeros(batchSizeBytesMax + 1)])
      expect(judgeEnd(facts(bytes, known))).toMatchObject({ kind: 'refused', rule: 'R3', durable })
  })

  it('is not refused by what is proven up to G', () => {
    const proofs = [head(4), snapshot(4), committed(4), receipt(4), head(9, 2), head(9, 1)]
    expect(judge('', { proofs, seals })).toBe('clean')
    expect(judge('{"seq":5,', { proofs, seals })).toBe('unterminated')
  })

  it('is refused by anything that a later epoch says: its segment was begun, and is lost', () => {
    for (const proof of [head(4, 4), snapshot(-1, 4), committed(0, 9)]) {
      for (const bytes of ['', '{"seq":5,', zeros(9), 'x']) {
        expect(judge(bytes, { proofs: [proof] })).toBe('R3')
        expect(judge(bytes, { proofs: [proof], strictSeq: 4 })).toBe('R3')
      }
    }
  })

  it('A04: zeros in the middle of what was committed, and a later batch is there', () => {
    const bytes = join(holed(batch(5, 6), 100, 200), batch(7, 8))
    expect(judgeEnd(facts(bytes))).toMatchObject({ rule: 'R3', durable: { seq: 6, by: 'commit' } })
  })

  it('a damaged batch whose commit proves itself, and the first byte of another', () => {
    for (const damaged of [changed(batch(5, 6), 30), holed(batch(5, 6), 30, 40)]) {
      expect(judge(join(damaged, '{'))).toBe('R3')
      expect(judge(join(damaged, '{'), { strictSeq: 4 })).toBe('R3')
    }
  })

  it('a batch whose beginning is lost, and a later one is there', () => {
    expect(judge(join(batch(5, 6).subarray(30), batch(7, 7)))).toBe('R3')
    expect(judge(batch(7, 7))).toBe('R3')
  })

  it('says whether bytes are missing or damaged, and what proves it', () => {
    const known = { proofs: [snapshot(9)] }
    expect(judgeEnd(facts('', known))).toMatchObject({
      reason: expect.stringMatching(/missing.*9.*snapshot/),
    })
    expect(judgeEnd(facts('x', known))).toMatchObject({
      reason: expect.stringMatching(/damaged.*9.*snapshot/),
    })
  })
})

describe('a refusal', () => {
  it('names its rule, its reason and how far the log is durable', () => {
    const verdicts = [
      judgeEnd(facts('', { proofs: [head(9)] })),
      judgeEnd(facts('', { proofs: [head(4)], end: { firstTo: 4 } })),
      judgeEnd(facts('', { proofs: [head(3, 4)] })),
      judgeEnd(facts(zeros(batchSizeBytesMax + 1))),
      judgeEnd(facts(batch(3, 4))),
      judgeEnd(facts(line(6))),
    ]
    expect(verdicts.map((verdict) => verdict.kind === 'refused' && verdict.rule)).toEqual([
      'R3',
      'R3',
      'R3',
      'R4',
      'R5',
      'R7',
    ])
    expect(verdicts.map(({ durable }) => durable.seq)).toEqual([9, 4, 3, -1, 2, -1])
    const reasons = verdicts.map((verdict) => (verdict.kind === 'refused' ? verdict.reason : ''))
    expect(new Set(reasons.filter((reason) => reason !== '')).size).toBe(verdicts.length)
  })
})
