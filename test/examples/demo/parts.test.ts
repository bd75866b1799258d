import { mkdirSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TranscriptMessage } from '@tidemark/session-core'
import { describe, expect, it } from 'vitest'
import { parseArguments } from '../../../examples/demo/arguments.ts'
import { chooseCorpus, examine } from '../../../examples/demo/corpus.ts'
import { digestOf } from '../../../examples/demo/digest.ts'
import { chooseFacts, factsSizeBytesMax } from '../../../examples/demo/fact.ts'
import { listTree } from '../../../examples/demo/listing.ts'
import { paintFor } from '../../../examples/demo/paint.ts'
import { findUnpaired } from '../../../examples/demo/pairing.ts'
import type { Step } from '../../../examples/readers/step.ts'
import { readTranscript } from '../../../examples/readers/transcript.ts'
import { claude } from '../readers/record.ts'
import { fileWith, linesOf, sample, scratchFolder, sharedData } from '../scratch.ts'

it('options may stand before and after files, and after -- everything is a file', () => {
  expect(parseArguments(['a', '--keep', 'b'])).toEqual({ kind: 'run', files: ['a', 'b'], keep: true })
  expect(parseArguments(['--keep', '--', '--keep', '-x'])).toEqual({
    kind: 'run',
    files: ['--keep', '-x'],
    keep: true,
  })
  expect(parseArguments(['--', 'a'])).toEqual({ kind: 'run', files: ['a'], keep: false })
  expect(parseArguments([])).toEqual({ kind: 'run', files: [], keep: false })
  expect(parseArguments([''])).toMatchObject({ kind: 'wrong' })
  expect(parseArguments(['-x'])).toMatchObject({ kind: 'wrong' })
  expect(parseArguments(['-h'])).toEqual({ kind: 'help' })
})

it('without a file it takes the real transcripts beside the repository, or else the sample', () => {
  expect(chooseCorpus(['a'])).toEqual({ source: 'named', files: ['a'] })
  const { source, files } = chooseCorpus([])
  expect(source).toBe(sharedData === undefined ? 'sample' : 'shared')
  expect(files.every((file) => file.endsWith('.jsonl'))).toBe(true)
  if (source === 'sample') expect(files).toEqual([sample])
})

it('a file is examined before anything is run', () => {
  expect(examine(sample)).toMatchObject({ kind: 'readable', reading: { format: 'pi', stepCount: 258 } })
  expect(examine('missing')).toMatchObject({ kind: 'refused', refusal: { kind: 'missing' } })
})

describe('the facts of a transcript', () => {
  const factsOf = (...records: object[]): string[] =>
    chooseFacts(readTranscript(fileWith(linesOf(...records))).steps).facts.map(({ text }) => text)

  it('are the lines that people labelled', () => {
    expect(factsOf(claude.user('Go\nCRITICAL: one\nmore'), claude.user('CONSTRAINT: two'))).toEqual([
      'CRITICAL: one',
      'CONSTRAINT: two',
    ])
    expect(factsOf(claude.user('Go\nNot CRITICAL: one'))).not.toContain('CRITICAL: one')
  })

  it('are what the labels pin and nothing else: without a list marker, the last of a key, no code', () => {
    const text = '- CRITICAL: one\n1. FACT: two\n    CRITICAL: code\nFACT[k]: old\nFACT[k]: new\nCRITICAL:'
    expect(factsOf(claude.user(text))).toEqual(['CRITICAL: one', 'FACT: two', 'FACT[k]: new'])
  })

  it('are two lines of what people wrote where none is labelled', () => {
    expect(factsOf(claude.user('x', { isMeta: true }), claude.user('a\n\n  b  \nc'))).toEqual(['a', 'b'])
  })

  it('are two lines from the user’s seat where no person wrote', () => {
    expect(factsOf(claude.user('a\nb\nc', { isSidechain: true }))).toEqual(['a', 'b'])
  })

  it('are whole lines, as many as fit; the others are counted', () => {
    const line = (name: string): string => `CRITICAL: ${name.repeat(factsSizeBytesMax - 10)}`
    const steps = (...records: object[]): Step[] => [...readTranscript(fileWith(linesOf(...records))).steps]
    expect(chooseFacts(steps(claude.user(line('a'))))).toEqual({
      facts: [{ text: line('a'), index: 1 }],
      leftOutCount: 0,
    })
    expect(chooseFacts(steps(claude.user(`${line('a')}a`)))).toEqual({ facts: [], leftOutCount: 1 })
    expect(chooseFacts(steps(claude.user(`${line('a')}\nCRITICAL: b`)))).toMatchObject({ leftOutCount: 1 })
  })

  it('are cut to a length when they are only quoted, never inside a character', () => {
    const [fact = ''] = factsOf(claude.user('🌊'.repeat(1_000)))
    expect(fact).toBe('🌊'.repeat(120))
    expect(factsOf(claude.user(`x${'🌊'.repeat(1_000)}`))).toEqual([`x${'🌊'.repeat(119)}`])
  })
})

describe('a transcript is valid when each call is followed by its result', () => {
  const user: TranscriptMessage = { role: 'user', seq: 0, parts: [] }
  const calls = (...ids: string[]): TranscriptMessage => ({
    role: 'assistant',
    seq: 1,
    parts: ids.map((id) => ({ type: 'tool-call', id, callId: id, name: 'x', arguments: null })),
  })
  const results = (...ids: string[]): TranscriptMessage => ({
    role: 'tool',
    seq: 2,
    parts: ids.map((id) => ({ type: 'tool-result', id, name: 'x', outcome: 'ok', parts: [] })),
  })

  it.each<[string, TranscriptMessage[], boolean]>([
    ['paired', [user, calls('a', 'b'), results('a', 'b'), user], true],
    ['no calls', [user, user], true],
    ['nothing', [], true],
    ['no result', [calls('a')], false],
    ['something between', [calls('a'), user, results('a')], false],
    ['one missing', [calls('a', 'b'), results('a')], false],
    ['another order', [calls('a', 'b'), results('b', 'a')], false],
    ['a result alone', [results('a')], false],
    ['a result after a person', [user, results('a')], false],
    ['an id twice', [calls('a'), results('a'), calls('a'), results('a')], false],
  ])('%s', (_what, messages, isValid) => {
    expect(findUnpaired(messages) === undefined).toBe(isValid)
  })
})

it('equal values have equal digests, whatever the order of their keys', () => {
  expect(digestOf({ a: 1, b: { c: [1, 2], d: null } })).toBe(digestOf({ b: { d: null, c: [1, 2] }, a: 1 }))
  expect(digestOf({ a: [1, 2] })).not.toBe(digestOf({ a: [2, 1] }))
})

it('a listing shows every change below a folder', () => {
  const folder = scratchFolder()
  const file = join(folder, 'inner', 'file')
  mkdirSync(join(folder, 'inner'))
  writeFileSync(file, 'x')
  const before = listTree(folder)
  expect(listTree(folder)).toEqual(before)
  utimesSync(file, 1, 1)
  expect(listTree(folder)).not.toEqual(before)
})

it('there is colour on a terminal only', () => {
  const painted = '\u001b[32mx\u001b[0m'
  expect(paintFor({ isTTY: true }, {})('green', 'x')).toBe(painted)
  expect(paintFor({ isTTY: true }, { NO_COLOR: '1' })('green', 'x')).toBe('x')
  expect(paintFor({ isTTY: true }, { TERM: 'dumb' })('green', 'x')).toBe('x')
  expect(paintFor({}, {})('green', 'x')).toBe('x')
})
