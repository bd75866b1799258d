import { describe, expect, it } from 'vitest'
import { TranscriptRefused } from '../../../examples/readers/refusal.ts'
import { readTranscript } from '../../../examples/readers/transcript.ts'
import { fileWith, linesOf } from '../scratch.ts'
import { claude, pi, saidBy, text } from './record.ts'

const good = linesOf(claude.user('One'), claude.assistant('m1', text('Two')))

function refusalOf(content: string | Uint8Array): {
  line: number | undefined
  reason: string
  message: string
} {
  const file = fileWith(content)
  try {
    readTranscript(file)
  } catch (error) {
    if (!(error instanceof TranscriptRefused)) throw error
    expect(error).toMatchObject({ kind: 'damaged', file })
    return { line: error.line, reason: error.reason, message: error.message }
  }
  throw new Error('it was read')
}

describe('a damaged file is refused with the line and the reason', () => {
  it.each([
    ['broken JSON in the middle', `${good}{"type":"user",,}\n${good}`, 'is broken JSON'],
    [
      'a line that is cut off',
      `${good}{"type":"user","message":{"con\n${good}`,
      'is cut off inside a record',
    ],
    ['a torn last line', `${good}{"type":"user","message":{"con`, 'is torn: the file ends inside a record'],
    ['two records on one line', `${good}{"a":"}{"}{"b":1}\n${good}`, 'holds two records glued together'],
    ['something after a record', `${good}{"a":1} garbage\n`, 'goes on after its record'],
    ['NUL bytes', `${good}${'\0'.repeat(512)}\n${good}`, 'holds 512 NUL bytes'],
    ['NUL bytes at the end', `${good}${'\0'.repeat(3)}`, 'holds 3 NUL bytes'],
    ['JSON that is no record', `${good}[1]\n`, 'is JSON, but no object'],
    ['text', `${good}hello\n`, 'is not JSON'],
    ['a comment between records', `${good}# note\n${good}`, 'is a comment between records'],
  ])('%s', (_what, content, reason) => {
    expect(refusalOf(content)).toMatchObject({ line: 3, reason })
  })

  it('bytes that are no UTF-8', () => {
    const bad = Buffer.concat([Buffer.from(good), Buffer.from([0xe4, 0xb8, 0x0a])])
    expect(refusalOf(bad)).toMatchObject({ line: 3, reason: 'is not UTF-8' })
    expect(refusalOf(bad.subarray(0, -1))).toMatchObject({ line: 3, reason: 'is torn inside a character' })
  })

  it('a record without its message', () => {
    expect(refusalOf(`${good}${linesOf({ ...claude.user(''), message: null })}`)).toMatchObject({ line: 3 })
    expect(
      refusalOf(linesOf(pi.header(), { type: 'message', message: { role: 'user' } }, { type: 'message' })),
    ).toMatchObject({ line: 3 })
  })

  it('a pi session without its header', () => {
    expect(refusalOf(linesOf(pi.user('Hello')))).toMatchObject({ line: 1 })
  })
})

it('the refusal says how many lines before it are intact, and shows nothing of what was written', () => {
  expect(refusalOf(`${good}{"secret`).message).toContain('the 2 lines before it are intact')
  expect(refusalOf(`${good}{"secret`).message).not.toContain('secret')
  expect(refusalOf(`{"torn\n${good}`).message).toContain('no line before it')
})

it('line numbers count blank lines and comments', () => {
  expect(refusalOf(`// exported\n\n${good}{"torn`)).toMatchObject({ line: 5 })
})

it('a complete last record without a line feed is read', () => {
  expect(readTranscript(fileWith(good.trimEnd())).recordCount).toBe(2)
})

it('comment lines before the first record, blank lines and CRLF are passed over', () => {
  const file = fileWith(`# exported\n// by hand\n\n${good.replaceAll('\n', '\r\n')}\r\n`)
  expect(readTranscript(file).recordCount).toBe(2)
})

it('lines are split at LF only', () => {
  const said = 'a\u2028b\u2029c\u0085d\u000be\u000cf'
  expect(saidBy(readTranscript(fileWith(linesOf(claude.user(said)))).steps)).toEqual([['human', said]])
})
