import { readFileSync } from 'node:fs'
import { step, toolCall, turn } from '@tidemark/session-core'
import { expect, it } from 'vitest'
import { chooseFacts } from '../../../examples/demo/fact.ts'
import { findUnpaired } from '../../../examples/demo/pairing.ts'
import { readTranscript } from '../../../examples/readers/transcript.ts'
import { fileWith, sample } from '../scratch.ts'
import { saidBy, typesOf } from './record.ts'
import { recorded } from './recorded.ts'

const { steps, format } = readTranscript(sample)

it('the sample is a pi session of a few hundred events, with parallel calls, errors and an open end', () => {
  const types = typesOf(steps)
  const outcomes = steps.flatMap((each) => (each.type === 'tool/result' ? [each.data.outcome] : []))
  expect(format).toBe('pi')
  expect(steps.length).toBeGreaterThan(200)
  expect(types.some((type, index) => type === 'tool/call' && types[index + 1] === 'tool/call')).toBe(true)
  expect(outcomes).toContain('error')
  expect(types.at(-1)).toBe('tool/call')
})

it('exactly two lines of it are labelled by a person; a third that a tool printed is not', () => {
  const printed = steps.filter(
    (each) => each.type === 'tool/result' && JSON.stringify(each).includes('CRITICAL: '),
  )
  expect(chooseFacts(steps).facts.map(({ text }) => text)).toEqual([
    'CRITICAL: never touch the table audit_log',
    'CONSTRAINT: the exported signatures of src/booking.ts stay as they are, other services import them',
  ])
  expect(printed).toHaveLength(1)
})

it('every step of it is accepted, and the transcript is valid while it is open', async () => {
  const session = await recorded(steps)
  expect(session.log.length).toBe(steps.length)
  expect(findUnpaired(session.messages())).toBeUndefined()
  const open = [turn, step, toolCall].flatMap((bracket) => session.open(bracket))
  expect(open.map(({ status }) => status)).toEqual(['live', 'live', 'live'])
})

it('cut at any line, it gives the steps up to there', () => {
  const lines = readFileSync(sample, 'utf8').split('\n')
  for (let count = 1; count < lines.length; count++) {
    const { steps: first } = readTranscript(fileWith(lines.slice(0, count).join('\n')))
    expect(first).toEqual(steps.slice(0, first.length))
  }
})

it('reading it twice gives the same', () => {
  expect(readTranscript(sample).steps).toEqual(steps)
})

it('it names nobody', () => {
  const authors = new Set(saidBy(steps).map(([author]) => author))
  expect([...authors]).toEqual(['human'])
  expect(readFileSync(sample, 'utf8')).not.toMatch(/@|\/Users\/|\/home\/(?!dev\/)/)
})
