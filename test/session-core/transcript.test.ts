import type { Session, Sessions } from '@tidemark/session-core'
import type { Context } from 'cordis'
import { beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { isDeepFrozen } from './frozen.ts'
import { guestDefinitions } from './guest.ts'
import { define, startHost } from './host.ts'
import { complaints } from './pairing.ts'
import { codeOf } from './refusal.ts'
import { lines, resultShown, speaker } from './speaker.ts'

let ctx: Context
let sessions: Sessions
let session: Session
let say: ReturnType<typeof speaker>

beforeEach(async () => {
  ctx = await startHost()
  sessions = ctx.sessions
  session = sessions.create()
  say = speaker(session)
})

const resume = (): Session => sessions.create({ seed: [...session.log] })

describe('results', () => {
  it('stand directly after their calls, in the order of the calls', () => {
    say.user('go')
    say.said('calling')
    const seqs = [say.call('x'), say.call('y')]
    say.result(seqs[1]!, 'second', 'y')
    say.user('steering')
    say.result(seqs[0]!, 'first', 'x')
    say.said('done')
    expect(lines(session)).toEqual([
      'user: go',
      'assistant: calling +call-2 +call-3',
      'tool: call-2=ok call-3=ok',
      'user: steering',
      'assistant: done',
    ])
    expect(resultShown(session, 2)).toEqual({ outcome: 'ok', text: 'first' })
  })

  it('are not expected of a call that is running: it says so at once', () => {
    const seq = say.call()
    expect(resultShown(session, seq).outcome).toBe('running')
    say.user('steering')
    expect(lines(session)).toEqual(['assistant: +call-0', 'tool: call-0=running', 'user: steering'])
    say.result(seq)
    expect(lines(session)).toEqual(['assistant: +call-0', 'tool: call-0=ok', 'user: steering'])
  })

  it('without content still say something, and an error stays an error', () => {
    const seqs = [say.call(), say.call()]
    const result = { callId: 'a', outcome: 'error', parts: [{ type: 'text', text: '' }] } as const
    session.append('tool/result', { ...result, callSeq: seqs[0]! })
    session.append('tool/result', { ...result, callSeq: seqs[1]!, outcome: 'ok', parts: [] })
    expect(resultShown(session, 0)).toMatchObject({
      outcome: 'error',
      text: expect.stringMatching(/./) as string,
    })
    expect(resultShown(session, 1)).toMatchObject({
      outcome: 'ok',
      text: expect.stringMatching(/./) as string,
    })
    expect(complaints(session.messages())).toEqual([])
  })
})

describe('calls', () => {
  it('get ids that are unique in the transcript, whatever the provider called them', () => {
    for (const callId of ['call_0', 'call_0', '', '']) {
      const seq = say.call(callId)
      say.result(seq, 'done', callId)
    }
    const calls = session.messages().flatMap(({ parts }) => parts.filter((part) => part.type === 'tool-call'))
    expect(calls.map(({ id, callId }) => [id, callId])).toEqual([
      ['call-0', 'call_0'],
      ['call-2', 'call_0'],
      ['call-4', ''],
      ['call-6', ''],
    ])
  })

  it('join the message before them until another message comes or the step ends', () => {
    say.step()
    say.said('one')
    say.call()
    say.call()
    say.user('steering')
    say.call()
    say.call()
    say.step()
    say.call()
    expect(lines(session).filter((line) => line.startsWith('assistant'))).toEqual([
      'assistant: one +call-2 +call-3',
      'assistant: +call-5 +call-6',
      'assistant: +call-8',
    ])
  })

  it('half-streamed are dropped', () => {
    say.turn()
    say.chunk('I will ')
    say.chunk('{"path": "/et', 'call')
    const resumed = resume()
    expect(lines(resumed)).toEqual(['assistant: I will  (interrupted)'])
    expect(complaints(resumed.messages())).toEqual([])
  })
})

describe('streamed text', () => {
  it('gives way to the message that completes it', () => {
    say.chunk('He')
    say.chunk('llo')
    say.said('Hello')
    expect(lines(session)).toEqual(['assistant: Hello'])
    expect(lines(resume())).toEqual(['assistant: Hello'])
  })

  it.each(['turn/end', 'turn/start', 'step/start', 'step/end', 'session/resumed'])(
    'that %s cuts short is kept, and marked as interrupted',
    (type) => {
      say.turn()
      say.step()
      say.chunk('think', 'reasoning')
      say.chunk('Hel')
      say.chunk('lo')
      expect(lines(session)).toEqual([])
      if (type === 'turn/end') say.endTurn()
      if (type === 'turn/start') say.turn()
      if (type === 'step/start') say.step()
      if (type === 'step/end') say.endStep()
      const later = type === 'session/resumed' ? resume() : session
      expect(lines(later)).toEqual(['assistant: think Hello (interrupted)'])
      expect(later.messages()[0]).toMatchObject({ seq: 2, parts: [{ type: 'reasoning' }, { type: 'text' }] })
    },
  )

  it('stands before what was said to it while it streamed', () => {
    say.user('go')
    say.chunk('I am ')
    say.user('wait')
    say.chunk('typing')
    say.user('stop')
    expect(lines(session)).toEqual(['user: go', 'user: wait', 'user: stop'])
    expect(lines(resume())).toEqual([
      'user: go',
      'assistant: I am typing (interrupted)',
      'user: wait',
      'user: stop',
    ])
  })

  it('starts a message of its own: a call that follows does not join the one before', () => {
    say.said('first')
    say.chunk('second')
    const seq = say.call()
    say.step()
    expect(lines(session)).toEqual([
      'assistant: first',
      'assistant: second (interrupted)',
      'assistant: +call-2',
      'tool: call-2=running',
    ])
    say.result(seq)
    expect(resultShown(session, seq).outcome).toBe('ok')
  })

  it('keeps calls that came while it streamed, with what became of them', () => {
    say.turn()
    say.chunk('one ')
    const seqs = [say.call()]
    say.chunk('two')
    seqs.push(say.call())
    say.result(seqs[0]!)
    say.endTurn()
    expect(lines(session)).toEqual([
      'assistant: one two (interrupted)',
      'assistant: +call-2 +call-4',
      'tool: call-2=ok call-4=interrupted',
    ])
  })

  it('whose pieces cut through a character is put together again', () => {
    say.chunk('a\ud83c')
    say.chunk('\udf7bb')
    expect(lines(resume())).toEqual(['assistant: a🍻b (interrupted)'])
  })
})

describe('what is empty', () => {
  it('is not shown: messages without parts, parts without text, streams of nothing', () => {
    session.append('user/message', { parts: [] })
    session.append('assistant/message', { parts: [] })
    say.user('')
    say.said('')
    say.chunk('')
    const resumed = resume()
    expect(resumed.messages()).toEqual([])
    const file = { type: 'file', mediaType: 'image/png', data: 'AA==', author: 'human' } as const
    resumed.append('user/message', { parts: [{ type: 'text', text: '', author: 'human' }, file] })
    expect(lines(resumed)).toEqual(['user: <image/png>'])
  })
})

describe('text', () => {
  it('is stored as told and shown well-formed, wherever it stands', () => {
    const half = '\ud83c'
    say.user(`a${half}`)
    session.append('tool/call', { callId: half, name: `n${half}`, arguments: { [`k${half}`]: [`v${half}`] } })
    session.append('tool/result', {
      callId: half,
      callSeq: 1,
      outcome: 'ok',
      parts: [{ type: 'file', mediaType: 'a/b', name: half }],
    })
    expect(session.log.at(1).data).toMatchObject({ callId: half, name: `n${half}` })
    expect(complaints(session.messages())).toEqual([])
    expect(session.messages()[1]).toMatchObject({
      parts: [{ name: 'n\ufffd', callId: '\ufffd', arguments: { 'k\ufffd': ['v\ufffd'] } }],
    })
  })

  it('keeps __proto__ in arguments as a key like any other', () => {
    const args = JSON.parse('{"__proto__":{"x":"\\ud83c"}}') as { readonly x: string }
    session.append('tool/call', { callId: 'a', name: 'n', arguments: args })
    const text = JSON.stringify(session.messages())
    expect(text).toContain('"arguments":{"__proto__":{"x":"\ufffd"}}')
    expect(({} as { x?: unknown }).x).toBeUndefined()
  })
})

describe('the messages', () => {
  it('are deeply frozen, and the same objects as long as nothing was said', () => {
    say.user('a')
    say.call()
    const messages = session.messages()
    expect(isDeepFrozen(messages)).toBe(true)
    session.append('loose/event', {}, { ignorable: true })
    expect(session.messages()[0]).toBe(messages[0])
  })

  it('are not changed by what comes later', () => {
    const seq = say.call()
    const before = session.messages()
    const text = JSON.stringify(before)
    say.result(seq)
    say.user('more')
    expect(JSON.stringify(before)).toBe(text)
  })
})

describe('an event of a plugin', () => {
  it('is shown at its own position when its definition says how', async () => {
    await define(ctx, guestDefinitions)
    say.user('before')
    session.append('note/said', { text: 'note' })
    session.append('note/said', { text: '' })
    session.append('job/start', { id: 'a' })
    say.user('after')
    expect(lines(session)).toEqual(['user: before', 'user: note', 'user: after'])
  })

  it.each([
    ['throws', () => (undefined as unknown as { a: { b: never } }).a.b],
    ['gives another role', () => ({ role: 'tool', parts: [] })],
    [
      'gives parts that are none',
      () => ({ role: 'user', parts: [{ type: 'text', text: 5, author: 'human' }] }),
    ],
    ['gives no parts', () => ({ role: 'user' })],
  ])('is refused when what it shows %s, since nothing could be shown ever after', async (_what, message) => {
    const events = { 'x/a': { schema: z.any(), message: message as never } }
    await define(ctx, { owner: 'x', events })
    expect(codeOf(() => session.append('x/a' as never, {} as never))).toBe('INVALID_EVENT')
    expect(say.user('a')).toBe(0)
    expect(lines(session)).toEqual(['user: a'])
  })

  it('that was recorded before its plugin came is shown as in a session that is read afterwards', async () => {
    say.user('before')
    session.append('note/said' as never, { text: 'note' } as never, { ignorable: true } as never)
    expect(lines(session)).toEqual(['user: before'])
    await define(ctx, guestDefinitions)
    const cold = sessions.view(session.header, [...session.log])
    expect(lines(cold)).toEqual(['user: before', 'user: note'])
    expect(lines(session)).toEqual(lines(cold))
    expect(lines(sessions.fork(session))).toEqual(lines(cold))
  })

  it('stays shown in a living session while its plugin is away and others come', async () => {
    const fiber = await define(ctx, guestDefinitions)
    session.append('note/said', { text: 'note' })
    await fiber.dispose()
    session.append('x/a', {}, { ignorable: true })
    await define(ctx, { owner: 'x', events: { 'x/a': { schema: z.any(), ignorable: true } } })
    say.user('after')
    expect(lines(session)).toEqual(['user: note', 'user: after'])
  })
})
