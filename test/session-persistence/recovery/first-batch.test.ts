import { describe, expect, it } from 'vitest'
import type { Proof } from '../../../packages/session-persistence/src/journal/recover.ts'
import { batch, changed, commit, holed, join, judge, line, lines, zeros } from './tails.ts'

const head = (epoch: number): Proof => ({ source: 'head', epoch, seq: 4 })

describe('what a crash can leave of a first batch without events', () => {
  const first = commit(5, 4)
  const known = { end: { firstTo: 4 } }

  it('is the beginning of a commit, with or without a hole', () => {
    expect(judge('', known)).toBe('clean')
    for (let length = 1; length < first.length; length++)
      expect(judge(first.subarray(0, length), known)).toBe('unterminated')
    for (let from = 0; from < first.length; from++) {
      expect(judge(holed(first, from), known)).toBe('hole')
      expect(judge(holed(first, from, from + 5), known)).toBe('hole')
    }
  })

  it('is no event, and nothing else', () => {
    for (const bytes of [line(5), line(5).subarray(0, 20), changed(first, -20), 'x', join('x', zeros(9))])
      expect(judge(bytes, known)).toBe('R7')
  })
})

describe('what a crash can leave of a first batch that is carried over', () => {
  const first = batch(5, 7)
  const known = { end: { firstTo: 7 } }

  it('is its beginning, with or without a hole', () => {
    expect(judge('', known)).toBe('clean')
    const classes = new Set<string>()
    for (let length = 1; length < first.length; length++) classes.add(judge(first.subarray(0, length), known))
    expect(classes).toEqual(new Set(['unterminated', 'uncommitted']))
    for (let from = 0; from < first.length; from++) {
      expect(judge(holed(first, from), known)).toBe('hole')
      expect(judge(holed(first, from, from + 50), known)).toBe('hole')
    }
  })

  it('is no commit before its last event, and no event after it', () => {
    expect(judge(join(lines(5, 6), '{"commit":{"fr'), known)).toBe('R7')
    expect(judge(join(lines(5, 7), '{"commit":{"fr'), known)).toBe('unterminated')
    expect(judge(join(lines(5, 7), '{"seq":8,"ti'), known)).toBe('R7')
    expect(judge(lines(5, 8), known)).toBe('R7')
    expect(judge(join(holed(line(5), 9, 20), lines(6, 8)), known)).toBe('R7')
    expect(judge(join(lines(5, 7), holed(line(8), 9)), known)).toBe('R7')
  })
})

describe('R3: a segment that was begun and has no whole first batch is refused', () => {
  const known = { end: { firstTo: 6 } }
  const first = batch(5, 6)

  it('by a head of its epoch, even where nothing is left', () => {
    for (const bytes of ['', '{"seq":5,', zeros(9), 'x']) {
      expect(judge(bytes, { ...known, proofs: [head(3)] })).toBe('R3')
      expect(judge(bytes, { ...known, strictSeq: 4 })).toBe('R3')
    }
  })

  it('and not by a head of another epoch, or another proof of its own', () => {
    const proofs: Proof[] = [head(2), { source: 'receipt', seq: 4 }]
    const own = (['snapshot', 'commit'] as const).map((source) => ({ source, epoch: 3, seq: 4 }))
    expect(judge('{"seq":5,', { ...known, proofs: [...proofs, ...own] })).toBe('unterminated')
  })

  it('by a commit that is not of its first batch', () => {
    const second = join(holed(first, 0), holed(line(7), 0), commit(7, 7, { durable: 4 }))
    expect(judge(second, known)).toBe('R3')
    expect(judge(join(zeros(9), commit(5, 5)), known)).toBe('R3')
    expect(judge(holed(first, 9, 20), known)).toBe('hole')
  })

  it('by anything that follows its commit but zeros', () => {
    const empty = { end: { firstTo: 4 } }
    for (const [bytes, of] of [
      [holed(first, 9, 20), known],
      [join('x', commit(5, 4)), empty],
    ] as const) {
      expect(judge(join(bytes, zeros(512), '{'), of)).toBe('R3')
      expect(judge(join(bytes, '{'), of)).toBe('R3')
    }
    expect(judge(join(holed(first, 9, 20), zeros(512)), known)).toBe('hole')
  })

  it('a log that has a whole first batch is not', () => {
    expect(judge('', { proofs: [head(3)] })).toBe('clean')
    expect(judge('{"seq":5,', { strictSeq: 4 })).toBe('unterminated')
  })
})
