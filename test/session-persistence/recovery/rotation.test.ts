import { describe, expect, it } from 'vitest'
import type { Proof } from '../../../packages/session-persistence/src/journal/recover.ts'
import { commit, judge, zeros } from './tails.ts'

/** The log ends at seq 4, in epoch 3. */
const head = (rotation: number, epoch = 3): Proof => ({ source: 'head', epoch, rotation, seq: 4 })
const inFirst: Proof = { source: 'head', epoch: 3, seq: 4 }

describe('a head of the same epoch', () => {
  const cut = '{"seq":5,'

  it('of an earlier segment says nothing of the first batch of a later one', () => {
    for (const proof of [head(0), head(1), inFirst, head(9, 2)]) {
      expect(judge(cut, { end: { rotation: 2, firstTo: 6 }, proofs: [proof] })).toBe('unterminated')
      expect(judge('', { end: { rotation: 2, firstTo: 6 }, proofs: [proof] })).toBe('clean')
    }
  })

  it('of the segment itself says that its first batch was durable', () => {
    for (const bytes of ['', cut, zeros(9)])
      expect(judge(bytes, { end: { rotation: 2, firstTo: 6 }, proofs: [head(2)] })).toBe('R3')
    expect(judge(cut, { end: { firstTo: 6 }, proofs: [inFirst] })).toBe('R3')
    expect(judge(cut, { end: { rotation: 2, firstTo: 6 }, strictSeq: 4 })).toBe('R3')
  })

  it('of a later segment says that this is not the newest', () => {
    for (const end of [{}, { rotation: 1 }, { rotation: 1, firstTo: 6 }]) {
      expect(judge('', { end, proofs: [head(2)] })).toBe('R3')
      expect(judge(cut, { end, proofs: [head(2)] })).toBe('R3')
    }
    expect(judge('', { end: { rotation: 2 }, proofs: [head(2)] })).toBe('clean')
  })

  it('of a later epoch does so whatever its rotation', () => {
    expect(judge('', { end: { rotation: 2 }, proofs: [head(0, 4)] })).toBe('R3')
  })
})

it('a commit that is not of the first batch says that this was durable', () => {
  const end = { rotation: 1, firstTo: 6 }
  expect(judge(commit(7, 7, { durable: 4 }), { end })).toBe('R3')
})
