import { expect, it } from 'vitest'
import type { Reading } from '../../../examples/readers/reading.ts'
import { TranscriptRefused } from '../../../examples/readers/refusal.ts'
import { readTranscript } from '../../../examples/readers/transcript.ts'
import { fileWith, linesOf } from '../scratch.ts'
import { codex, saidBy, typesOf } from './record.ts'

const read = (...records: readonly unknown[]): Reading =>
  readTranscript(fileWith(linesOf(codex.meta(), ...records)))

it('a turn holds the steps of the model, each with the results of its calls', () => {
  const { format, steps } = read(
    ...codex.typed('Do it'),
    codex.assistant('I look'),
    codex.call('c1', '{"cmd":"ls"}'),
    codex.call('c2', '{"cmd":"pwd"}'),
    codex.output('c1', 'one'),
    codex.output('c2', 'two'),
    codex.assistant('Done'),
    codex.event('task_complete'),
  )
  expect(format).toBe('codex')
  expect(typesOf(steps)).toEqual([
    ...['turn/start', 'user/message', 'step/start', 'assistant/message', 'tool/call', 'tool/call'],
    ...['tool/result', 'tool/result', 'step/end', 'step/start', 'assistant/message', 'step/end', 'turn/end'],
  ])
  expect(steps[4]).toMatchObject({ data: { callId: 'c1', name: 'exec', arguments: { cmd: 'ls' } } })
  expect(steps[7]).toMatchObject({ callIndex: 5, data: { parts: [{ text: 'two' }] } })
  expect(steps.at(-1)).toMatchObject({ data: { reason: 'completed' } })
})

it('only what the screen shows as typed is a person’s, and the rest of the user’s seat is the program’s', () => {
  const { steps } = read(
    codex.user('# AGENTS.md instructions\nCRITICAL: obey'),
    ...codex.typed('Look at it <file name="a.md">CRITICAL: obey</file>'),
    codex.assistant('So'),
    codex.user('<turn_aborted>CRITICAL: obey</turn_aborted>'),
    codex.item('message', { role: 'developer', content: [{ type: 'input_text', text: 'CRITICAL: obey' }] }),
    codex.user('CRITICAL: said by nobody'),
    codex.event('user_message', { message: 'something else' }),
  )
  expect(saidBy(steps).map(([author]) => author)).toEqual([
    ...['system', 'human', 'file', 'system', 'system', 'system'],
  ])
})

it('a message whose author is not told yet is no step of a file that ends there', () => {
  const records = [codex.user('Go'), codex.event('user_message', { message: 'Go' })]
  const shorter = read(...records.slice(0, 1))
  expect(shorter.steps).toEqual([])
  expect(shorter.skipped.get('message whose author has not been told')).toBe(1)
  expect(saidBy(read(...records).steps)).toEqual([['human', 'Go']])
})

it('an interrupted turn ends so, and its open call stays open', () => {
  const { steps } = read(...codex.typed('Go'), codex.call('c1', '{}'), codex.event('turn_aborted'))
  expect(typesOf(steps)).not.toContain('tool/result')
  expect(steps.at(-1)).toMatchObject({ type: 'turn/end', data: { reason: 'interrupted' } })
})

it('arguments that are no JSON are kept as text, and so is what other tools are given', () => {
  const { steps } = read(
    ...codex.typed('Go'),
    codex.call('c1', '{"cut'),
    codex.item('custom_tool_call', { call_id: 'c2', name: 'apply_patch', input: '*** Begin Patch' }),
    codex.item('custom_tool_call_output', { call_id: 'c2', output: { content: 'Success', success: true } }),
  )
  expect(steps.filter(({ type }) => type === 'tool/call')).toMatchObject([
    { data: { arguments: '{"cut' } },
    { data: { name: 'apply_patch', arguments: '*** Begin Patch' } },
  ])
  expect(steps.at(-1)).toMatchObject({ data: { parts: [{ text: 'Success' }] } })
})

it('what a compaction of its own repeats is passed over, and its summary is the program’s', () => {
  const { steps, skipped } = read(
    codex.record('compacted', { message: '', replacement_history: [] }),
    codex.record('compacted', { message: 'CRITICAL: obey', replacement_history: [] }),
  )
  expect(saidBy(steps)).toEqual([['system', 'CRITICAL: obey']])
  expect(skipped.get('compacted')).toBe(1)
})

it('records, items and events of a kind that is not known are counted', () => {
  const { skipped, recordCount } = read(
    codex.record('world_state', {}),
    codex.item('web_search_call', {}),
    codex.item('from_the_future', {}),
    codex.event('token_count'),
    codex.event('token_count'),
  )
  expect(recordCount).toBe(6)
  expect(Object.fromEntries(skipped)).toEqual({
    session_meta: 1,
    world_state: 1,
    'response_item web_search_call': 1,
    'response_item from_the_future': 1,
    'event_msg token_count': 2,
  })
})

it('a record without a payload is named by its line', () => {
  const thrown = (): unknown => read(codex.user('Go'), { type: 'response_item', timestamp: 'x' })
  expect(thrown).toThrowError(TranscriptRefused)
  expect(thrown).toThrowError(expect.objectContaining({ kind: 'damaged', line: 3 }))
})
