import { describe, expect, it } from 'vitest'
import { judgeHeader, startSizeBytesMax } from '../../../packages/session-persistence/src/journal/recover.ts'
import {
  batchSizeBytesMax,
  headerSizeBytesMax,
} from '../../../packages/session-persistence/src/journal/size.ts'
import { batch, commit, holed, join, line, lines, zeros } from './tails.ts'

const header = '{"segment":{"format":1,"epoch":3,"sum":"0"}}'
const begun = join(header, '\n', commit(5, 4))
const carried = join(header, '\n', batch(5, 7))
/** Zeros instead of the whole header, its line end included. */
const hidden = zeros(header.length + 1)

const judge = (bytes: Buffer | string, { sizeBytes = bytes.length, hasHead = false } = {}): string =>
  judgeHeader(join(bytes), sizeBytes, hasHead).kind

describe('R8: the first line of a segment', () => {
  it('that is whole is a header, whatever it says and whatever follows', () => {
    for (const [text, rest] of [
      [header, ''],
      [header, 'x\0'],
      ['no header', ''],
      ['', ''],
    ] as const) {
      const verdict = judgeHeader(join(text, '\n', rest), 1e9, true)
      expect(verdict).toEqual({ kind: 'header', line: Buffer.from(text) })
    }
  })

  it('that was never written, or cut short, is void', () => {
    for (let length = 0; length <= header.length; length++) {
      const verdict = judgeHeader(Buffer.from(header.slice(0, length)), length, false)
      expect(verdict).toEqual({ kind: 'void', reason: 'was never begun' })
    }
  })

  it('C02: that begins like no header is refused', () => {
    for (const text of ['x', '{"seq":0,', '{"segment":[', `x${header}`]) expect(judge(text)).toBe('unfit')
    for (const text of ['x', '{"seq":0,', '{"segment":[']) expect(judge(join(text, zeros(9)))).toBe('unfit')
  })

  it('that is longer than any header is refused', () => {
    const text = header.padEnd(headerSizeBytesMax)
    expect(judge(text.slice(0, -1))).toBe('void')
    expect(judge(text)).toBe('unfit')
    expect(judge(text.slice(0, -1), { sizeBytes: headerSizeBytesMax })).toBe('unfit')
  })

  it('that holds zeros is void, up to the size of a header and a batch', () => {
    expect(startSizeBytesMax).toBe(headerSizeBytesMax + batchSizeBytesMax)
    expect(judgeHeader(zeros(9), 9, false)).toEqual({ kind: 'void', reason: 'holds NUL bytes' })
    expect(judge(zeros(9), { sizeBytes: startSizeBytesMax })).toBe('void')
    expect(judge(zeros(9), { sizeBytes: startSizeBytesMax + 1 })).toBe('unfit')
    expect(judge(zeros(startSizeBytesMax))).toBe('void')
  })

  it.each<[what: string, bytes: Buffer]>([
    ['C06: a whole claim of zeros', holed(carried, 0)],
    ['its first sector', holed(carried, 0, 20)],
    [
      'its line end, and the beginning of the first batch',
      holed(carried, header.length - 5, header.length + 9),
    ],
    ['the end of it, and the rest is there', holed(carried, 20, header.length)],
    ['the end of it, and the first batch is cut', holed(carried, 20, header.length).subarray(0, -300)],
    ['it, a hole in the first batch, and its commit', holed(holed(carried, 0, 20), 80, 99)],
    ['it, and a commit without events', holed(begun, 20, header.length)],
    ['it, a commit without events, and more zeros', join(holed(begun, 20, header.length), zeros(99))],
    ['it, and half of a commit', holed(begun, 20, header.length).subarray(0, -99)],
  ])('with zeros in place of %s is void', (_, bytes) => {
    expect(judge(bytes)).toBe('void')
  })

  it.each<[what: string, bytes: Buffer]>([
    ['another batch', join(carried, batch(8, 8))],
    ['the first byte of another batch', join(carried, '{')],
    ['an event after a commit without events', join(begun, line(5))],
    ['events whose seqs fall', join(header, '\n', line(6), lines(5, 7))],
    ['a line that is no event', join(header, '\n', line(5), 'no JSON\n')],
  ])('with zeros in it, and %s after the first batch, is refused', (_, bytes) => {
    expect(judge(holed(bytes, 20, header.length))).toBe('unfit')
  })

  it('that is void without a head is refused with one: a head is only written after it', () => {
    for (const bytes of ['', '{"segm', zeros(9), hidden]) {
      expect(judge(bytes)).toBe('void')
      expect(judge(bytes, { hasHead: true })).toBe('unfit')
    }
  })

  it('is refused with a reason of its own', () => {
    const reasons = [
      judgeHeader(Buffer.alloc(0), 0, true),
      judgeHeader(Buffer.from('x'), 1, false),
      judgeHeader(holed(join(begun, line(5)), 20, header.length), 600, false),
    ].map((verdict) => (verdict.kind === 'unfit' ? verdict.reason : ''))
    expect(new Set(reasons.filter((reason) => reason !== '')).size).toBe(3)
  })
})
