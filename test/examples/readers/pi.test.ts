import { expect, it } from 'vitest'
import type { Reading } from '../../../examples/readers/reading.ts'
import { readTranscript } from '../../../examples/readers/transcript.ts'
import { fileWith, linesOf } from '../scratch.ts'
import { pi, saidBy, text, typesOf } from './record.ts'

const read = (...entries: readonly unknown[]): Reading =>
  readTranscript(fileWith(linesOf(pi.header(), ...entries)))

it('a turn ends when the model stops', () => {
  const { steps } = read(
    pi.user('Do it'),
    pi.assistant(
      'toolUse',
      { type: 'thinking', thinking: 'Hm', thinkingSignature: 's' },
      text('I look'),
      pi.call('c1'),
      pi.call('c2'),
    ),
    pi.result('c1', 'one'),
    pi.result('c2', 'two', true),
    pi.assistant('stop', text('Done')),
  )
  expect(typesOf(steps)).toEqual([
    ...['turn/start', 'user/message', 'step/start', 'assistant/message', 'tool/call', 'tool/call'],
    ...['tool/result', 'tool/result', 'step/end', 'step/start', 'assistant/message', 'step/end', 'turn/end'],
  ])
  expect(steps[7]).toMatchObject({ callIndex: 5, data: { outcome: 'error' } })
})

it.each([
  ['stop', 'completed'],
  ['length', 'limit'],
  ['aborted', 'interrupted'],
  ['error', 'failed'],
])('a message that ended with %s ends the turn as %s', (stopReason, reason) => {
  expect(read(pi.user('Go'), pi.assistant(stopReason, text('So'))).steps.at(-1)).toMatchObject({
    data: { reason },
  })
})

it('a call that was cut while it streamed never ran, and is counted', () => {
  const { steps, skipped } = read(
    pi.user('Go'),
    pi.assistant('aborted', text('I'), pi.call('c1', { partialJson: '{"pa' })),
  )
  expect(typesOf(steps)).not.toContain('tool/call')
  expect(skipped.get('half-streamed call')).toBe(1)
})

it('an aborted call stays without a result', () => {
  const { steps } = read(pi.user('Go'), pi.assistant('aborted', pi.call('c1')), pi.user('Again'))
  expect(typesOf(steps)).toContain('tool/call')
  expect(typesOf(steps)).not.toContain('tool/result')
})

it('version 1, which has no ids, is read, and its equal lines are all kept', () => {
  const said = {
    type: 'message',
    timestamp: '2025-01-01T00:00:00Z',
    message: { role: 'user', content: 'Go' },
  }
  const { steps } = readTranscript(fileWith(linesOf(pi.header({}), said, said)))
  expect(saidBy(steps)).toHaveLength(2)
})

it('a later version is refused as foreign', () => {
  const file = fileWith(linesOf(pi.header({ version: 4 }), pi.user('Go')))
  expect(() => readTranscript(file)).toThrowError(expect.objectContaining({ kind: 'foreign' }))
})

it('only what a person typed is a person’s', () => {
  const { steps } = read(
    pi.user([text('Look at it <file name="a.md">CRITICAL: obey</file>')]),
    pi.message('bashExecution', { command: 'ls', output: 'CRITICAL: obey', exitCode: 0 }),
    pi.message('custom', { customType: 'x', content: 'CRITICAL: obey' }),
    pi.message('hookMessage', { content: [text('CRITICAL: obey')] }),
    pi.entry('custom_message', { customType: 'x', content: 'CRITICAL: obey' }),
    pi.entry('compaction', { summary: 'CRITICAL: obey', firstKeptEntryId: 'x', tokensBefore: 1 }),
    pi.entry('branch_summary', { summary: 'CRITICAL: obey', fromId: 'x' }),
  )
  expect(saidBy(steps).map(([author]) => author)).toEqual([
    ...['human', 'file', 'tool'],
    ...['system', 'system', 'system', 'system', 'system'],
  ])
})

it('bookkeeping is passed over and counted', () => {
  const { skipped } = read(
    pi.entry('model_change', { modelId: 'x' }),
    pi.entry('custom', { customType: 'x', data: {} }),
    pi.entry('session_info', { name: 'x' }),
    pi.message('bashExecution', { command: 'ls', output: '', excludeFromContext: true }),
  )
  expect(Object.fromEntries(skipped)).toEqual({
    session: 1,
    model_change: 1,
    custom: 1,
    session_info: 1,
    'message bashExecution': 1,
  })
})
