import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { mayTry } from '../../packages/compaction/src/may-try.ts'

const trial = { attemptsMax: 3, contextTokensMax: 1_000, tokensAtLast: 900 }

describe('whether an automatic compaction may be tried', () => {
  it('yes, with no failure behind it', () => {
    expect(mayTry({ ...trial, attempts: 0, tokensNow: 900 })).toBe(true)
  })

  it.each([
    [1, 50],
    [2, 100],
    [3, 500],
    [99, 500],
  ])('after %d failures only once the transcript has grown by %d of 1,000', (attempts, growth) => {
    expect(mayTry({ ...trial, attempts, tokensNow: 900 + growth - 1 })).toBe(false)
    expect(mayTry({ ...trial, attempts, tokensNow: 900 + growth })).toBe(true)
  })

  it('where the log does not say how large it was, as often as is allowed', () => {
    const unknown = { ...trial, tokensAtLast: undefined, tokensNow: 900 }
    expect([1, 2, 3].map((attempts) => mayTry({ ...unknown, attempts }))).toEqual([true, true, false])
  })

  it('after one that was applied and left too much, once it has grown', () => {
    const left = { ...trial, tokensAtLast: undefined, attempts: 0, tokensLeft: 850 }
    expect([899, 900].map((tokensNow) => mayTry({ ...left, tokensNow }))).toEqual([false, true])
  })

  it('more growth never forbids what less allows, and more failures never allow what fewer forbid', () => {
    const input = fc.record({
      attempts: fc.nat(20),
      attemptsMax: fc.integer({ min: 1, max: 20 }),
      grown: fc.nat(1_000),
    })
    fc.assert(
      fc.property(input, fc.nat(100), ({ attempts, attemptsMax, grown }, more) => {
        const ask = (count: number, by: number): boolean =>
          mayTry({ ...trial, attemptsMax, attempts: count, tokensNow: trial.tokensAtLast + by })
        if (ask(attempts, grown)) expect(ask(attempts, grown + more)).toBe(true)
        if (!ask(attempts, grown)) expect(ask(attempts + 1, grown)).toBe(false)
      }),
    )
  })
})
