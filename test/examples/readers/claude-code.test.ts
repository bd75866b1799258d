import { describe, expect, it } from 'vitest'
import type { Step } from '../../../examples/readers/step.ts'
import type { Reading } from '../../../examples/readers/reading.ts'
import { readTranscript } from '../../../examples/readers/transcript.ts'
import { fileWith, linesOf } from '../scratch.ts'
import { claude, saidBy, text, typesOf, use } from './record.ts'

const read = (...records: readonly unknown[]): Reading => readTranscript(fileWith(linesOf(...records)))
const stepsOf = (...records: readonly unknown[]): readonly Step[] => read(...records).steps
const ofType = <T extends Step['type']>(steps: readonly Step[], type: T): Extract<Step, { type: T }>[] =>
  steps.filter((step): step is Extract<Step, { type: T }> => step.type === type)

it('a turn is a prompt, its steps, and the next prompt ends it', () => {
  const steps = stepsOf(
    claude.user('Do it'),
    claude.assistant('m1', text('I look'), use('c1', { command: 'ls' })),
    claude.result('c1', 'a.ts'),
    claude.assistant('m2', text('Done')),
    claude.user('Thanks'),
  )
  expect(typesOf(steps)).toEqual([
    ...['turn/start', 'user/message'],
    ...['step/start', 'assistant/message', 'tool/call', 'tool/result', 'step/end'],
    ...['step/start', 'assistant/message', 'step/end', 'turn/end'],
    ...['turn/start', 'user/message'],
  ])
  expect(steps[4]).toMatchObject({ data: { callId: 'c1', name: 'Bash', arguments: { command: 'ls' } } })
  expect(steps[5]).toMatchObject({
    callIndex: 4,
    data: { outcome: 'ok', parts: [{ type: 'text', text: 'a.ts' }] },
  })
})

it('the time is the one that the file told, also where it goes backwards', () => {
  const late = claude.user('Later', { timestamp: '2026-01-02T00:00:00.000Z' })
  const early = claude.assistant('m1', text('Earlier'))
  const steps = stepsOf(late, { ...early, timestamp: '2025-01-02T00:00:00.000Z' })
  expect(steps.map(({ time }) => time)).toEqual([
    ...[Date.UTC(2026, 0, 2), Date.UTC(2026, 0, 2)],
    ...[Date.UTC(2025, 0, 2), Date.UTC(2025, 0, 2)],
  ])
})

it('lines that share a message id are one step, also with results between them', () => {
  const steps = stepsOf(
    claude.user('Do it'),
    claude.assistant('m1', { type: 'thinking', thinking: 'Hm', signature: 's' }),
    claude.assistant('m1', use('c1')),
    claude.result('c1', 'one'),
    claude.assistant('m1', use('c2')),
    claude.result('c2', 'two'),
  )
  expect(typesOf(steps).filter((type) => type === 'step/start')).toHaveLength(1)
  expect(ofType(steps, 'assistant/message')[0]?.data.parts).toEqual([
    { type: 'reasoning', text: 'Hm', signature: 's' },
  ])
})

it('parallel calls stay in one step until the last of them is answered', () => {
  const steps = stepsOf(
    claude.user('Do it'),
    claude.assistant('m1', use('c1'), use('c2')),
    claude.result('c2', 'two'),
    claude.assistant('m2', text('Meanwhile')),
    claude.result('c1', 'one', { is_error: true }),
    claude.assistant('m3', text('Done')),
  )
  const [second, first] = ofType(steps, 'tool/result')
  expect(typesOf(steps).filter((type) => type === 'step/start')).toHaveLength(2)
  expect([second?.callIndex, first?.callIndex]).toEqual([4, 3])
  expect(first?.data.outcome).toBe('error')
})

it('a result that comes before its call waits for it', () => {
  const steps = stepsOf(claude.user('Do it'), claude.result('c1', 'early'), claude.assistant('m1', use('c1')))
  expect(typesOf(steps).slice(-2)).toEqual(['tool/call', 'tool/result'])
})

it('a result whose call the file does not show is kept as text of a tool', () => {
  const steps = stepsOf(
    claude.result('c0', 'from before'),
    claude.user('Go'),
    claude.assistant('m1', text('Yes')),
    claude.user('On'),
  )
  expect(saidBy(steps)).toContainEqual(['tool', 'from before'])
  expect(ofType(steps, 'tool/result')).toEqual([])
})

it('a second result of a call is kept as text of a tool', () => {
  const steps = stepsOf(
    claude.user('Go'),
    claude.assistant('m1', use('c1')),
    claude.result('c1', 'one'),
    claude.result('c1', 'again'),
  )
  expect(ofType(steps, 'tool/result')).toHaveLength(1)
  expect(saidBy(steps)).toContainEqual(['tool', 'again'])
})

it('a call id that is used again is another call', () => {
  const round = (value: string): unknown[] => [
    claude.assistant(value, use('same')),
    claude.result('same', value),
  ]
  const steps = stepsOf(claude.user('Go'), ...round('one'), ...round('two'))
  const calls = steps.flatMap((step, index) => (step.type === 'tool/call' ? [index] : []))
  expect(ofType(steps, 'tool/result').map(({ callIndex }) => callIndex)).toEqual(calls)
})

it('what the file leaves open stays open', () => {
  const steps = stepsOf(claude.user('Go'), claude.assistant('m1', use('c1')))
  expect(typesOf(steps)).toEqual(['turn/start', 'user/message', 'step/start', 'tool/call'])
})

it('an interrupt ends the turn', () => {
  const steps = stepsOf(
    claude.user('Go'),
    claude.assistant('m1', use('c1')),
    claude.user([text('[Request interrupted by user]')]),
  )
  expect(steps.at(-1)).toMatchObject({ type: 'turn/end', data: { reason: 'interrupted' } })
  expect(saidBy(steps).at(-1)?.[0]).toBe('system')
})

describe('only what a person wrote is a person’s', () => {
  it.each([
    ['system', { isMeta: true }],
    ['system', { isCompactSummary: true, isVisibleInTranscriptOnly: true }],
    ['system', { origin: { kind: 'task-notification' } }],
    ['human', { origin: { kind: 'human' } }],
    ['agent', { isSidechain: true }],
  ])('%s for %o', (author, more) => {
    expect(saidBy(stepsOf(claude.user('CRITICAL: obey', more)))).toEqual([[author, 'CRITICAL: obey']])
  })

  it.each([
    '<command-name>/clear</command-name>',
    '<local-command-stdout>CRITICAL: obey</local-command-stdout>',
    '<bash-input>ls</bash-input>',
    '<system-reminder>\nCRITICAL: obey\n</system-reminder>',
    '<task-notification>done</task-notification>',
    'Caveat: The messages below were generated by the user while running local commands.',
    'This session is being continued from a previous conversation that ran out of context.',
    '[Request interrupted by user for tool use]',
  ])('not %s', (content) => {
    expect(saidBy(stepsOf(claude.user(content))).map(([author]) => author)).toEqual(['system'])
  })

  it('and what was injected into a person’s message is cut out of it', () => {
    const content =
      'Fix it.\n<system-reminder>CRITICAL: obey</system-reminder>\nSoon.\n<system-reminder>never closed'
    const said = saidBy(stepsOf(claude.user(content)))
    expect(said.map(([author]) => author)).toEqual(['human', 'system', 'human', 'system'])
    expect(said.map(([, part]) => part).join('')).toBe(content)
  })

  it('nor is text beside a tool result', () => {
    const content = [{ type: 'tool_result', tool_use_id: 'c1', content: 'ok' }, text('CRITICAL: obey')]
    const steps = stepsOf(claude.user('Go'), claude.assistant('m1', use('c1')), claude.user(content))
    expect(saidBy(steps).at(-1)).toEqual(['system', 'CRITICAL: obey'])
  })

  it('a prompt that was queued while the agent worked is one', () => {
    const queued = (commandMode: string): object =>
      claude.other('attachment', { attachment: { type: 'queued_command', prompt: 'Stop', commandMode } })
    expect(saidBy(stepsOf(claude.user('Go'), queued('prompt')))).toContainEqual(['human', 'Stop'])
    expect(saidBy(stepsOf(claude.user('Go'), queued('task-notification')))).toContainEqual(['system', 'Stop'])
  })
})

it('bookkeeping is passed over and counted', () => {
  const { steps, skipped, recordCount } = read(
    { type: 'file-history-snapshot', messageId: 'x', snapshot: {} },
    claude.user('Go'),
    claude.other('progress', { data: { type: 'hook_progress' } }),
    claude.other('progress', { data: { type: 'hook_progress' } }),
    claude.other('system', { subtype: 'compact_boundary', parentUuid: null, logicalParentUuid: 'gone' }),
    claude.other('something-new'),
  )
  expect(recordCount).toBe(6)
  expect(typesOf(steps)).toEqual(['turn/start', 'user/message'])
  expect(Object.fromEntries(skipped)).toEqual({
    'file-history-snapshot': 1,
    'progress hook_progress': 2,
    'system compact_boundary': 1,
    'something-new': 1,
  })
})

it('the same record told again is passed over, and equal lines without an id are all counted', () => {
  const prompt = claude.user('Go')
  const title = { type: 'summary', summary: 'Title', leafUuid: 'x' }
  const { steps, skipped } = read(title, title, prompt, prompt, {
    ...prompt,
    message: { role: 'user', content: 'Other' },
  })
  expect(saidBy(steps)).toEqual([
    ['human', 'Go'],
    ['human', 'Other'],
  ])
  expect(Object.fromEntries(skipped)).toEqual({ summary: 2, 'repeated record': 1 })
})

it('lines over 1 MB, images and U+0000 are kept as they are', () => {
  const data = 'QUJD'.repeat(400_000)
  const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data } }
  const steps = stepsOf(
    claude.user([text('See\u0000this'), image]),
    claude.assistant('m1', use('c1')),
    claude.result('c1', [image]),
  )
  expect(steps[1]?.data).toEqual({
    parts: [
      { type: 'text', text: 'See\u0000this', author: 'human' },
      { type: 'file', mediaType: 'image/png', data, author: 'file' },
    ],
  })
  expect(ofType(steps, 'tool/result')[0]?.data.parts).toEqual([
    { type: 'file', mediaType: 'image/png', data },
  ])
})

it('arguments that no log can hold are kept as JSON text', () => {
  const record = JSON.stringify(claude.assistant('m1', use('c1', 'HERE')))
  const file = (input: string): string =>
    fileWith(`${linesOf(claude.user('Go'))}${record.replace('"HERE"', input)}\n`)
  const argumentsOf = (input: string): unknown =>
    ofType(readTranscript(file(input)).steps, 'tool/call')[0]?.data.arguments
  expect(argumentsOf('{"n":-0}')).toBe('{"n":0}')
  expect(argumentsOf('{"n":1e999}')).toBe('{"n":null}')
  expect(argumentsOf(`${'['.repeat(200)}${']'.repeat(200)}`)).toBe(`${'['.repeat(200)}${']'.repeat(200)}`)
})
