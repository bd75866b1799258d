import { expect, it } from 'vitest'
import { detectFormat } from '../../../examples/readers/format.ts'
import { openSource } from '../../../examples/readers/source.ts'
import { fileWith, linesOf, sample, scratchFolder } from '../scratch.ts'
import { claude, pi } from './record.ts'

const formatOf = (content: string | Uint8Array): unknown => detectFormat(openSource(fileWith(content)))
const thrownBy = (file: string, sizeBytesMax?: number): unknown => {
  try {
    return openSource(file, sizeBytesMax)
  } catch (error) {
    return error
  }
}

const payload = { timestamp: '2026-01-01T00:00:00Z', type: 'session_meta', payload: { id: 'x' } }

it.each([
  ['a prompt', claude.user('Hello')],
  ['a title', { type: 'summary', summary: 'Title', leafUuid: 'x' }],
  ['a snapshot', { type: 'file-history-snapshot', messageId: 'x', snapshot: {} }],
  ['a queue record', { type: 'queue-operation', operation: 'enqueue', sessionId: 'x' }],
])('a file that begins with %s of Claude Code is one of its transcripts', (_what, record) => {
  expect(formatOf(linesOf(record))).toEqual({ kind: 'claude-code' })
})

it('a pi session is known by its header, in version 1 as well', () => {
  expect(formatOf(linesOf(pi.header()))).toEqual({ kind: 'pi' })
  expect(formatOf(linesOf(pi.header({})))).toEqual({ kind: 'pi' })
})

it('a Codex rollout and a memory bank are known by their form', () => {
  expect(formatOf(linesOf(payload))).toEqual({ kind: 'codex' })
  expect(formatOf(JSON.stringify({ Ada: { history: {} } }, null, 2))).toEqual({ kind: 'memory-bank' })
})

it('the format is told by the content and not by the name', () => {
  expect(detectFormat(openSource(fileWith(linesOf(pi.header()), 'notes.txt')))).toEqual({ kind: 'pi' })
})

it('damage at the beginning does not hide what the file is', () => {
  const prompt = claude.user('Hello')
  expect(formatOf(`# exported\n{"broken\n${linesOf(prompt)}`)).toEqual({ kind: 'claude-code' })
  expect(formatOf(`${'\0'.repeat(512)}\n${linesOf(prompt)}`)).toEqual({ kind: 'claude-code' })
  expect(formatOf(`\uFEFF${linesOf(prompt)}`)).toEqual({ kind: 'claude-code' })
})

it.each([
  ['empty', '\n\n'],
  ['a DeepSeek Harness log', linesOf({ type: 'session', version: 0, id: 'x', createdAt: 0 })],
  ['an OpenHands run', linesOf({ instance_id: 'x', history: [] })],
  ['an OpenHands run', linesOf({ id: 0, source: 'agent', action: 'run' })],
  ['a SWE-agent trajectory', linesOf({ trajectory: [], info: {} })],
  ['a JSON document (a SWE-agent trajectory)', JSON.stringify({ messages: [], info: {} }, null, 2)],
  ['a JSON document of an unknown kind', JSON.stringify({ name: 'x' }, null, 2)],
  ['a JSON document of an unknown kind', JSON.stringify({ Ada: { history: {} }, Bo: {} }, null, 2)],
  ['a JSON document of an unknown kind', '{}'],
  ['JSON Lines of an unknown kind', linesOf({ a: 1 }, { b: 2 })],
  ['a text file', '# Notes\n\nNothing to see here.\n'],
  ['a binary file', Uint8Array.from([0x89, 0x50, 0x4e, 0x47, 0, 0, 0, 13])],
])('a foreign file is named: %s', (what, content) => {
  expect(formatOf(content)).toEqual({ kind: 'foreign', what })
})

it('a file of the largest size is read, and one byte more is refused', () => {
  const file = fileWith('12345678')
  expect(thrownBy(file, 8)).toMatchObject({ file })
  expect(thrownBy(file, 7)).toMatchObject({ name: 'TranscriptRefused', kind: 'too-large', file })
})

it('what is missing, a folder or no file at all is refused by kind', () => {
  expect(thrownBy(`${sample}.missing`)).toMatchObject({ kind: 'missing' })
  expect(thrownBy(`${sample}/inside`)).toMatchObject({ kind: 'missing' })
  expect(thrownBy(scratchFolder())).toMatchObject({ kind: 'unreadable' })
  expect(thrownBy('/dev/null')).toMatchObject({ kind: 'unreadable' })
})
