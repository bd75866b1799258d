import { toolCall, type Session } from '@tidemark/session-core'
import { beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { isUnfrozen } from './frozen.ts'
import { define, startHost } from './host.ts'
import { FakeRecorder } from './recorder.ts'
import { codeOf } from './refusal.ts'

let session: Session
let append: (type: unknown, data: unknown, options?: object) => { seq: number }

beforeEach(async () => {
  session = (await startHost()).sessions.create()
  append = session.append.bind(session)
})

const text = { type: 'text', text: 'a' }
const misshapen: readonly [string, unknown][] = [
  ['turn/start', null],
  ['turn/start', []],
  ['turn/start', { extra: 1 }],
  ['turn/start', { meta: [] }],
  ['turn/end', {}],
  ['turn/end', { reason: 'tired' }],
  ['user/message', { parts: [text] }],
  ['user/message', { parts: [{ ...text, author: 'nobody' }] }],
  ['user/message', { parts: [{ type: 'reasoning', text: 'a', author: 'human' }] }],
  ['assistant/message', { parts: [{ ...text, author: 'human' }] }],
  ['assistant/message', { parts: 'a' }],
  ['assistant/chunk', { kind: 'other', text: 'a' }],
  ['tool/call', { callId: 'a', name: '', arguments: {} }],
  ['tool/call', { name: 'a', arguments: {} }],
  ['tool/call', { callId: 'a', name: 'a' }],
  ['tool/result', { callId: 'a', callSeq: -1, outcome: 'ok', parts: [] }],
  ['tool/result', { callId: 'a', callSeq: 0.5, outcome: 'ok', parts: [] }],
  ['tool/result', { callId: 'a', callSeq: 0, outcome: 'fine', parts: [] }],
]

describe('append', () => {
  it.each(misshapen)('refuses %s with a payload of another shape: %j', (type, data) => {
    expect(codeOf(() => append(type, data))).toBe('INVALID_EVENT')
    expect(session.log.length).toBe(0)
    expect(isUnfrozen(data)).toBe(true)
  })

  it.each(['session/resumed', 'session/recovered', 'bracket/abandoned'])(
    'refuses %s to everybody',
    (type) => {
      expect(codeOf(() => append(type, {}))).toBe('RESERVED')
      expect(codeOf(() => append(type, {}, { ignorable: true }))).toBe('RESERVED')
      expect(session.log.length).toBe(0)
    },
  )

  it('G4: refuses a type that nobody defined, and takes it as ignorable', () => {
    expect(codeOf(() => append('x/plugin', {}))).toBe('UNKNOWN_TYPE')
    expect(append('x/plugin', {}, { ignorable: true })).toMatchObject({ seq: 0, ignorable: true })
  })

  it.each(['', 'plain', '/', 'a/', '/b', 'a b/c', 'a/b\n', 'é/b', `a/${'b'.repeat(127)}`])(
    'refuses %j as the name of a type',
    (type) => {
      expect(codeOf(() => append(type, {}, { ignorable: true }))).toBe('INVALID_EVENT')
    },
  )

  it.each([undefined, null, 7, {}, Symbol('a'), ['turn/start']])(
    'refuses a type that is no string',
    (type) => {
      expect(codeOf(() => append(type, {}))).toBe('INVALID_EVENT')
    },
  )

  it.each(['__proto__/a', 'constructor/prototype', 'a/toString', `a/${'b'.repeat(126)}`])(
    'takes %s as a name like any other',
    (type) => {
      expect(append(type, {}, { ignorable: true }).seq).toBe(0)
      expect([...session.log.types.keys()]).toEqual([type])
    },
  )

  it('refuses a required type that is appended as ignorable', () => {
    expect(codeOf(() => append('turn/start', {}, { ignorable: true }))).toBe('INVALID_EVENT')
  })

  it('marks what is defined as ignorable', () => {
    expect(append('assistant/chunk', { kind: 'text', text: 'a' })).toMatchObject({ ignorable: true })
  })

  it.each([NaN, Infinity, '5', {}])('refuses %s as a time that was given', (time) => {
    expect(codeOf(() => append('turn/start', {}, { time }))).toBe('INVALID_EVENT')
  })

  it('records a time of -0 as 0, which is what JSON text gives back', () => {
    expect(append('turn/start', {}, { time: -0 })).toMatchObject({ time: 0 })
  })

  it('G3: uses no seq and freezes nothing when the writer refuses', async () => {
    const recorder = new FakeRecorder()
    const { sessions } = await startHost()
    const stored = sessions.create({ recorder })
    recorder.refuseWith = new RangeError('full')
    const data = { parts: [{ type: 'text', author: 'human', text: 'a' }] } as const
    expect(() => stored.append('user/message', data)).toThrow(RangeError)
    expect([stored.log.length, recorder.admitted.length, isUnfrozen(data)]).toEqual([0, 0, true])
    recorder.refuseWith = undefined
    expect(stored.append('user/message', data).seq).toBe(0)
  })

  it('G3: asks neither schema nor bracket when the payload is not lossless', async () => {
    const ctx = await startHost()
    let asked = 0
    const schema = z.any().refine(() => (asked += 1) > 0)
    await define(ctx, { owner: 'x', events: { 'x/a': { schema } } })
    const own = ctx.sessions.create()
    expect(codeOf(() => own.append('x/a' as never, 1n as never))).toBe('INVALID_PAYLOAD')
    expect(asked).toBe(0)
  })

  it('refuses a result that names its call by another callId', () => {
    append('tool/call', { callId: 'a', name: 'n', arguments: null })
    const result = { callId: 'b', callSeq: 0, outcome: 'ok', parts: [] }
    expect(codeOf(() => append('tool/result', result))).toBe('INVALID_EVENT')
    expect(session.open(toolCall)).toMatchObject([{ seq: 0, status: 'live' }])
  })

  it('refuses what a plugin’s own code outran, and shows the writer no seq twice', async () => {
    const ctx = await startHost()
    const recorder = new FakeRecorder()
    const own = ctx.sessions.create({ recorder })
    const message = (): undefined => void own.append('turn/start', {})
    await define(ctx, { owner: 'x', events: { 'x/a': { schema: z.any(), message } } })
    expect(codeOf(() => own.append('x/a' as never, {} as never))).toBe('INVALID_EVENT')
    expect(recorder.admitted.map(({ seq, type }) => [seq, type])).toEqual([[0, 'turn/start']])
  })

  it('is the only way to write: the log itself can be read and nothing else', () => {
    append('turn/start', {})
    expect(Object.keys(session.log).sort()).toEqual(['at', 'base', 'last', 'length', 'range', 'types'])
    expect(Object.isFrozen(session.log)).toBe(true)
    ;(session.log.types as Map<string, unknown>).clear()
    expect(session.log.types.size).toBe(1)
  })
})
