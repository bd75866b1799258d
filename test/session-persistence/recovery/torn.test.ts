import { describe, expect, it } from 'vitest'
import { judgeEnd } from '../../../packages/session-persistence/src/journal/recover.ts'
import { batchSizeBytesMax } from '../../../packages/session-persistence/src/journal/size.ts'
import { batch, changed, commit, facts, holed, join, judge, line, lines, zeros } from './tails.ts'

const five = line(5)
const next = batch(5, 7)
const commitAt = next.indexOf('{"commit"')

const commitOf = (batchId: string): Buffer => join(five, commit(5, 5, { batchId }))

const cutInsideOf = (character: string): Buffer => {
  const text = line(5, character)
  return text.subarray(0, text.indexOf(character) + Buffer.byteLength(character) - 1)
}

describe('what a crash can leave of the next batch is torn', () => {
  it('nothing at all is clean', () => {
    expect(judgeEnd(facts(''))).toEqual({ kind: 'clean', durable: { seq: -1, by: 'nothing' } })
  })

  it.each<[what: string, bytes: Buffer | string]>([
    ['A01: the first 40 bytes of an event', five.subarray(0, 40)],
    ['one byte', '{'],
    ['the beginning of the word seq', '{"s'],
    ['no digit of the seq yet', '{"seq":'],
    ['the seq, and not its comma', '{"seq":5'],
    ['the seq and its comma', '{"seq":5,'],
    ['A07: an event cut inside a UTF-8 character', cutInsideOf('中')],
    ['an event cut inside an emoji', cutInsideOf('🌊')],
    ['A07: a whole event without its line end', five.subarray(0, -1)],
    ['an event with U+2028 in it, and the next one cut', join(line(5, 'a\u2028b\u0085'), '{"seq":6,"ti')],
    ['one event, and the beginning of the next', join(five, '{"seq')],
    ['one event, and the beginning of a commit', join(five, '{"co')],
    ['everything but the last line end', next.subarray(0, -1)],
    ['a commit whose id looks like its end', commitOf(`,"sum":"${'0'.repeat(64)}"}}.`).subarray(0, -9)],
    ['everything but the second half of the commit', next.subarray(0, commitAt + 100)],
  ])('R6: %s: unterminated', (_, bytes) => {
    expect(judge(bytes)).toBe('unterminated')
  })

  it.each<[what: string, bytes: Buffer]>([
    ['one event', five],
    ['three events', lines(5, 7)],
    ['an event that holds a quoted commit', line(5, commit(5, 5).toString())],
    ['an event whose data looks like a commit', line(5, { commit: { from: 1, sum: '0'.repeat(64) } })],
  ])('R6: %s without a commit: uncommitted', (_, bytes) => {
    expect(judge(bytes)).toBe('uncommitted')
  })

  it.each<[what: string, bytes: Buffer]>([
    ['zeros alone', zeros(4_096)],
    ['one zero', zeros(1)],
    ['zeros instead of its first bytes', holed(next, 0, 30)],
    ['zeros across a line end', holed(next, five.length - 10, five.length + 10)],
    ['zeros instead of one whole event', holed(next, five.length, 2 * five.length - 1)],
    ['zeros instead of all events', holed(next, 0, commitAt - 1)],
    ['zeros in an event, and its commit', holed(next, 20, 40)],
    ['zeros in an event, its commit, and more zeros', join(holed(next, 20, 40), zeros(512))],
    ['zeros in its commit', holed(next, commitAt + 20, commitAt + 40)],
    ['zeros from inside its commit on', holed(next, commitAt + 20)],
    ['zeros from the start of its commit on', holed(next, commitAt)],
    ['a zero instead of its last line end', holed(next, next.length - 1)],
    ['zeros between two cut events', join(five.subarray(0, 20), zeros(100), '{"seq":8,"ti')],
    ['zeros, then the first digit of a seq', join(five.subarray(0, 20), zeros(100), '\n{"seq":1')],
    ['zeros, then long seqs', join(zeros(99), '\n', lines(99, 101), '{"seq":102,"ti')],
    ['zeros, then half of a long seq', join(zeros(99), '\n', lines(99, 101), '{"seq":10')],
    ['zeros twice', holed(holed(next, 10, 20), 70, 80)],
    [
      'a commit with a hole, and zeros in its line',
      join(holed(batch(5, 5).subarray(0, -1), 80, 99), zeros(9)),
    ],
    ['whole events and zeros after them', join(lines(5, 6), zeros(100))],
  ])('R6: %s: a hole', (_, bytes) => {
    expect(judge(bytes)).toBe('hole')
  })

  it('a torn end of the size of the largest batch is torn, and one byte more is refused', () => {
    expect(judge(zeros(batchSizeBytesMax))).toBe('hole')
    expect(judge(zeros(batchSizeBytesMax + 1))).toBe('R4')
    expect(judge(zeros(batchSizeBytesMax + 1), { strictSeq: 4 })).toBe('R4')
  })

  it('seqs of more than one digit are seqs', () => {
    const known = { end: { seq: 9 } }
    expect(judge(lines(10, 12), known)).toBe('uncommitted')
    expect(judge(join(lines(10, 12), '{"seq":13,'), known)).toBe('unterminated')
    expect(judge(join(lines(10, 12), '{"seq":1'), known)).toBe('unterminated')
    expect(judge(join(lines(10, 12), '{"seq":1,'), known)).toBe('R7')
  })

  it('says how far the log is durable, which is not as far as it is whole', () => {
    const proofs = [{ source: 'head', epoch: 3, seq: 2 }] as const
    const durable = { seq: 2, by: 'head' }
    expect(judgeEnd(facts('', { proofs }))).toEqual({ kind: 'clean', durable })
    expect(judgeEnd(facts('{', { proofs }))).toEqual({ kind: 'torn', class: 'unterminated', durable })
  })

  it('bytes in the middle of a larger buffer are judged by themselves', () => {
    const wide = join('\0x\n', five.subarray(0, 40), '\0')
    expect(
      judgeEnd({
        ...facts(five.subarray(0, 40)),
        tail: { ...facts('').tail, sizeBytes: 40, bytes: wide.subarray(3, -1) },
      }),
    ).toMatchObject({ kind: 'torn', class: 'unterminated' })
  })
})

describe('what no crash leaves is refused', () => {
  const noNumber = '{"toString":0,"valueOf":0}'
  const cutSix = '{"seq":6,"ti'
  it.each<[what: string, bytes: Buffer | string]>([
    ['a line that is no JSON', 'no JSON\n'],
    ['an empty line', '\n'],
    ['an empty line after an event', join(five, '\n')],
    ['C01: an event cut in its middle whose line goes on', join(five.subarray(0, 30), '\n')],
    ['C01: a damaged event before others', join(line(5), line(6).subarray(0, 30), '\n', line(7))],
    ['A12: a fragment of something longer', five.subarray(20)],
    ['a damaged seq after a hole', join(zeros(99), '\n{"seq":x{"seq":1,')],
    ['a seq after a hole as 8e0', join(zeros(99), '\n{"seq":8e0,"time":1}\n')],
    ['a seq after a hole as text', join(zeros(99), '\n{"seq":"8","time":1}\n')],
    ['two seqs after a hole, the second one as text', join(zeros(99), '\n{"seq":8,"seq":"9"}\n')],
    ['two seqs after a hole, the second one no number', join(zeros(99), `\n{"seq":8,"seq":${noNumber}}\n`)],
    ['a long seq after a hole that falls', join(zeros(99), '\n', line(12), '{"seq":11,"ti')],
    ['an event one seq too high', line(6)],
    ['an event one seq too low', line(4)],
    ['the beginning of an event one seq too high', cutSix],
    ['a seq that only begins like the right one', '{"seq":55,"ti'],
    ['the same event twice', join(five, five)],
    ['the same event twice, the second one cut', join(five, five.subarray(0, 20))],
    ['a gap', join(five, line(7))],
    ['a gap before what is cut', join(five, '{"seq":7,"ti')],
    ['an array', '[5]\n'],
    ['a number', '5\n'],
    ['null', 'null\n'],
    ['an event without a comma', '{"seq":5}\n'],
    ['a seq as 5e0', '{"seq":5e0,"time":1}\n'],
    ['a seq as 5.0', '{"seq":5.0,"time":1}\n'],
    ['a seq as 05', '{"seq":05,"time":1}\n'],
    ['a seq as text', '{"seq":"5","time":1}\n'],
    ['two seqs', '{"seq":5,"seq":6}\n'],
    ['a space before the seq', '{"seq": 5,"time":1}\n'],
    ['CR LF', five.toString().replace('\n', '\r\n')],
    ['a space after an event', five.toString().replace('\n', ' \n')],
    ['a CR inside a text', '{"seq":5,"data":"a\rb"}\n'],
    ['a commit before any event', commit(5, 4).subarray(0, 30)],
    ['a whole batch with a damaged event', changed(next, 50)],
    ['a whole batch with a damaged commit', changed(next, -20)],
    ['a damaged commit, and the beginning of another batch', join(changed(batch(5, 5), -20), cutSix)],
    ['a damaged commit, and a hole in another batch', join(changed(batch(5, 5), -20), cutSix, zeros(99))],
    ['a damaged commit, and zeros', join(changed(batch(5, 5), -20), zeros(99))],
    ['a commit whose line goes on', changed(batch(5, 5), -1, 0x2e)],
    ['a commit whose line goes on with a CR', changed(batch(5, 5), -1, 0x0d)],
    ['a commit, zeros, and another batch in its line', join(holed(batch(5, 5), -1), zeros(99), cutSix)],
    ['a commit with a hole whose line goes on', join(holed(batch(5, 5).subarray(0, -1), 80, 99), cutSix)],
    ['a commit whose line goes on with another batch', join(batch(5, 5).subarray(0, -1), cutSix)],
    ['text that is no event before a hole', join('no event', zeros(99))],
    ['a seq that is wrong before a hole', join('{"seq":6,', zeros(99))],
    ['a damaged line after a hole', join(five.subarray(0, 20), zeros(99), '\nno JSON\n')],
    ['a damaged cut line after a hole', join(five.subarray(0, 20), zeros(99), '\nno JSON')],
    ['a seq after a hole that the hole leaves no room for', join(zeros(99), '\n', line(5))],
    ['a seq after a hole that falls', join(zeros(99), '\n', line(8), line(7))],
    ['a cut event after a hole whose seq falls', join(zeros(99), '\n', line(8), '{"seq":8,"ti')],
    ['a hole in a commit, and another batch', join(holed(batch(5, 5), 80, 99), cutSix)],
    ['a hole before a commit that says nothing, and more', join(holed(changed(next, -20), 9, 20), cutSix)],
    [
      'a hole before a commit that says nothing, and a line end',
      join(holed(changed(next, -20), 9, 20), '\n'),
    ],
  ])('R7: %s', (_, bytes) => {
    expect(judge(bytes)).toBe('R7')
  })

  it.each<[what: string, bytes: Buffer]>([
    ['the last batch again', batch(3, 4)],
    ['the last batch again, after a hole', join(zeros(99), batch(3, 4))],
    ['the same seqs with other bytes', join(line(4, 'other'), commit(4, 4))],
    ['a batch of another epoch', join(five, commit(5, 5, { epoch: 2 }))],
    ['a batch of another epoch, after a hole', join(holed(five, 5, 9), commit(5, 5, { epoch: 2 }))],
    ['a batch after a gap', join(line(7), commit(7, 7, { durable: 4 }))],
    ['a sound commit, and a misplaced one', join(commit(5, 4), zeros(9), commit(2, 2))],
  ])('R5: %s, whatever a strict head says', (_, bytes) => {
    expect(judge(bytes)).toBe('R5')
    expect(judge(bytes, { strictSeq: 4 })).toBe('R5')
  })
})

describe('a strict head that says D = G', () => {
  const garbage = Buffer.from([0xff, 0x0a, 0x01, 0x7b])

  it('makes anything after G the end of an unacknowledged write', () => {
    const strict = { strictSeq: 4 }
    const durable = { seq: 4, by: 'head' }
    for (const bytes of [garbage, Buffer.from('no JSON\n'), five.subarray(20), changed(next, 50)])
      expect(judgeEnd(facts(bytes, strict))).toEqual({ kind: 'torn', class: 'strict-head', durable })
  })

  it('does so at exactly D = G', () => {
    expect(judge(garbage, { strictSeq: 3 })).toBe('R7')
    expect(judge(garbage, { strictSeq: 5 })).toBe('R3')
    expect(judge(garbage, { proofs: [{ source: 'head', epoch: 3, seq: 4 }] })).toBe('R7')
  })

  it('leaves what is torn anyway as it is', () => {
    expect(judge('', { strictSeq: 4 })).toBe('clean')
    expect(judge('{"seq":5,', { strictSeq: 4 })).toBe('unterminated')
    expect(judge(zeros(9), { strictSeq: 4 })).toBe('hole')
  })
})
