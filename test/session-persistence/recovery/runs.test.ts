import { describe, expect, it } from 'vitest'
import { batch, changed, commit, holed, join, judge, line, run, zeros } from './tails.ts'

const awkward = ['🌊', '\0\u2028', '\n{"seq":9,"time":1}\n', '{"commit":{"from":0']
/** Seqs 5, 6 to 9, 10, 11 to 13. */
const whole = join(line(5), run(6, awkward), line(10), run(11), commit(5, 13))

describe('what a crash can leave of a batch with runs is torn', () => {
  it('cut at any byte', () => {
    const classes = new Set<string>()
    for (let length = 1; length < whole.length; length++) classes.add(judge(whole.subarray(0, length)))
    expect(classes).toEqual(new Set(['unterminated', 'uncommitted']))
  })

  it('with a hole anywhere, and cut after it', () => {
    for (const sizeBytes of [1, 7, 60, 400]) {
      for (let from = 0; from < whole.length; from++) {
        expect(judge(holed(whole, from, from + sizeBytes))).toBe('hole')
        expect(judge(holed(whole, from, from + sizeBytes).subarray(0, from + 2 * sizeBytes))).toBe('hole')
      }
    }
  })

  it('as a first batch that is carried over, cut or with a hole', () => {
    const known = { end: { firstTo: 13 } }
    for (let length = 1; length < whole.length; length++)
      expect(judge(whole.subarray(0, length), known)).toMatch(/^(unterminated|uncommitted)$/)
    for (let from = 0; from < whole.length; from++) {
      expect(judge(holed(whole, from), known)).toBe('hole')
      expect(judge(holed(whole, from, from + 50), known)).toBe('hole')
    }
  })

  it('runs and nothing else', () => {
    expect(judge(run(5))).toBe('uncommitted')
    expect(judge(join(run(5), run(8), '{"seq":11,'))).toBe('unterminated')
    expect(judge(join(run(5), '{"commit":{"fr'))).toBe('unterminated')
    expect(judge(join(zeros(99), '\n', run(8), '{"seq":11,"ti'))).toBe('hole')
  })
})

describe('no crash leaves a run', () => {
  const text = run(5).toString()
  const edited = (from: string, to: string): string => {
    expect(text).toContain(from)
    return text.replace(from, to)
  }

  it.each<[what: string, bytes: Buffer | string]>([
    ['that begins one seq too high', run(6)],
    ['that begins one seq too low', run(4)],
    ['with a seq of its own after it', join(run(5), line(7))],
    ['with a gap after it', join(run(5), line(9))],
    ['with a seq of its own after it, cut', join(run(5), '{"seq":6,"ti')],
    ['with a run in it after it', join(run(5), run(7))],
    ['with fewer times than texts', edited('"dt":[1,1]', '"dt":[1]')],
    ['with a text less than times', edited('"a",', '')],
    ['with a time that is no integer', edited('"dt":[1,1]', '"dt":[1,0.5]')],
    ['with a text that is none', edited('"a"', '1')],
    ['of another type', edited('assistant/chunk', 'assistant/chunx')],
    ['with a member more', edited(',"run":', ',"ignorable":true,"run":')],
    ['with a space after it', edited('\n', ' \n')],
    ['cut in its middle, and the line goes on', join(text.slice(0, -9), '\n')],
    ['damaged after a hole', join(zeros(99), '\n', edited('"dt":[1,1]', '"dt":[]'))],
    ['after a hole that leaves no room for it', join(zeros(99), '\n', run(5))],
    ['after a hole, and a seq of its own after it', join(zeros(99), '\n', run(8), line(10))],
    ['after a hole, and one of its own seqs after it, cut', join(zeros(99), '\n', run(8), '{"seq":10,"t')],
    [
      'in a whole batch, with a digit changed',
      changed(join(run(5), commit(5, 7)), text.indexOf('[1,1]') + 1),
    ],
  ])('%s: R7', (_, bytes) => {
    expect(judge(bytes)).toBe('R7')
  })

  it('that goes beyond a first batch that is carried over: R7', () => {
    const known = { end: { firstTo: 6 } }
    expect(judge(run(5), known)).toBe('R7')
    expect(judge(run(5, ['a', 'b']), known)).toBe('uncommitted')
    expect(judge(join(run(5, ['a', 'b']), '{"commit":{"fr'), known)).toBe('unterminated')
    expect(judge(join(line(5), '{"commit":{"fr'), known)).toBe('R7')
    expect(judge(join(zeros(99), '\n', run(6)), known)).toBe('R7')
  })

  it('in a wrong place whose batch is whole: R5', () => {
    expect(judge(join(run(2), commit(2, 4)))).toBe('R5')
    expect(judge(join(run(8), commit(8, 10, { durable: 4 })))).toBe('R5')
  })

  it('of an acknowledged batch damaged, where another batch follows: R3', () => {
    const damaged = changed(join(run(5), commit(5, 7)), 90)
    expect(judge(join(damaged, batch(8, 8)))).toBe('R3')
    expect(judge(join(damaged, '{'))).toBe('R3')
  })
})
