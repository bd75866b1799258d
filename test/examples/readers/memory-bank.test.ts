import { expect, it } from 'vitest'
import { readTranscript } from '../../../examples/readers/transcript.ts'
import { fileWith } from '../scratch.ts'
import { saidBy, typesOf } from './record.ts'

it('a memory bank is the talk of its people, day by day, one turn an exchange', () => {
  const bank = {
    Ada: {
      name: 'Ada',
      history: {
        '2023-04-27': [{ query: 'Hello', response: 'Hello, Ada' }],
        '2023-04-28': [{ query: 'I paint', response: 'Fine' }, { query: 'alone' }],
      },
    },
    Bo: { history: { someday: [{ query: 'Me too', response: 'Good' }] } },
  }
  const { format, recordCount, steps, skipped } = readTranscript(fileWith(JSON.stringify(bank)))
  expect([format, recordCount]).toEqual(['memory-bank', 4])
  expect(saidBy(steps)).toEqual([
    ['human', 'Hello'],
    ['human', 'I paint'],
    ['human', 'Me too'],
  ])
  const turn = ['turn/start', 'user/message', 'step/start', 'assistant/message', 'step/end', 'turn/end']
  expect(typesOf(steps)).toEqual([...turn, ...turn, ...turn])
  expect(steps[1]?.time).toBe(Date.parse('2023-04-27'))
  expect(Object.fromEntries(skipped)).toEqual({ 'of a person: name': 1, 'half an exchange': 1 })
})
