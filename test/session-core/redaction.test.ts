import type { JsonObject, JsonValue, Redact, Session } from '@tidemark/session-core'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { guestDefinitions, job } from './guest.ts'
import { isUnfrozen } from './frozen.ts'
import { define, startHost } from './host.ts'
import { FakeRecorder } from './recorder.ts'
import { codeOf, refusalOf } from './refusal.ts'
import { speaker } from './speaker.ts'

/** Replaces a secret in every text, keys included. */
function blank(value: JsonValue): JsonValue {
  if (typeof value === 'string') return value.replaceAll('hunter2', '[gone]')
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(blank)
  const entries = Object.entries(value as JsonObject)
  return Object.fromEntries(
    entries.map(([key, inner]) => [key.replaceAll('hunter2', '[gone]'), blank(inner)]),
  )
}

async function startSession(redact: Redact): Promise<Session> {
  const ctx = await startHost({ redact })
  await define(ctx, guestDefinitions)
  return ctx.sessions.create()
}

describe('the host’s redaction', () => {
  it('G30: sees every payload, nested keys and values included, before anybody else', async () => {
    const recorder = new FakeRecorder()
    const ctx = await startHost({ redact: blank })
    const heard: string[] = []
    ctx.on('tidemark/event', (_session, event) => void heard.push(JSON.stringify(event)))
    const session = ctx.sessions.create({ recorder })
    const say = speaker(session)
    say.user('my password is hunter2')
    say.chunk('hunter2')
    const call = { callId: 'a', name: 'login', arguments: { deep: [{ hunter2: 'hunter2' }] } }
    session.append('tool/call', call)
    say.result(2, 'failed for hunter2')
    session.append('loose/event', { note: 'hunter2' }, { ignorable: true })
    session.append('turn/start', { meta: { note: ['hunter2'] } })
    const everything =
      JSON.stringify([...session.log, ...session.messages(), ...recorder.admitted]) + heard.join()
    expect(everything).not.toContain('hunter2')
    expect(session.log.at(2).data).toEqual({ ...call, arguments: { deep: [{ '[gone]': '[gone]' }] } })
    expect([...session.log].map(({ seq }) => seq)).toEqual([0, 1, 2, 3, 4, 5])
  })

  it('neither sees nor changes ids', async () => {
    const seen: JsonValue[] = []
    const session = await startSession((payload) => {
      seen.push(payload)
      const isResult = Object.hasOwn(payload as JsonObject, 'outcome')
      return { ...(payload as JsonObject), callId: 'changed', ...(isResult && { callSeq: 99 }) }
    })
    session.append('tool/call', { callId: 'hunter2', name: 'n', arguments: {} })
    session.append('tool/result', { callId: 'hunter2', callSeq: 0, outcome: 'ok', parts: [] })
    expect(JSON.stringify(seen)).not.toContain('hunter2')
    expect(session.log.at(0).data).toMatchObject({ callId: 'hunter2' })
    expect(session.log.at(1).data).toMatchObject({ callId: 'hunter2', callSeq: 0 })
  })

  it.each<[string, Redact]>([
    ['throws', () => thrown()],
    ['gives nothing', () => undefined as never],
    ['gives a promise', (payload) => Promise.resolve(payload) as never],
    ['gives what JSON has not', () => ({ a: 1n }) as never],
    ['gives another shape', () => 'text'],
    ['gives null', () => null],
  ])(
    'G30: fails closed when it %s: nothing is recorded, nothing of the content is told',
    async (_what, redact) => {
      const session = await startSession(redact)
      const data = { callId: 'a', name: 'n', arguments: { secret: 'hunter2' } }
      const refusal = refusalOf(() => session.append('tool/call', data))
      expect(['INVALID_EVENT', 'INVALID_PAYLOAD']).toContain(refusal.code)
      expect(refusal.message + JSON.stringify(refusal.details) + String(refusal.cause)).not.toContain(
        'hunter2',
      )
      expect([session.log.length, isUnfrozen(data)]).toEqual([0, true])
    },
  )

  it('is asked before the schema: what it makes of a payload must fit', async () => {
    const session = await startSession(() => ({ parts: 'text' }))
    expect(codeOf(() => speaker(session).user('a'))).toBe('INVALID_EVENT')
  })

  it('is not asked of what is refused as lossy, nor of history', async () => {
    let asked = 0
    const ctx = await startHost({ redact: (payload) => ((asked += 1), payload) })
    const session = ctx.sessions.create({ seed: [{ seq: 0, time: 0, type: 'turn/start', data: {} }] })
    expect(codeOf(() => session.append('turn/start', 1n as never))).toBe('INVALID_PAYLOAD')
    expect([asked, session.log.length]).toEqual([0, 2])
  })

  it('sees the closing events of a plugin that goes', async () => {
    const ctx = await startHost({ redact: blank })
    const settle = () => ({ type: 'job/end', data: { id: 'a', why: 'hunter2' } })
    const schema = z.looseObject({ id: z.string() })
    const events = { 'job/start': { schema }, 'job/end': { schema } }
    const fiber = await define(ctx, { owner: 'guest', events, brackets: [{ ...job, settle }] })
    const session = ctx.sessions.create()
    session.append('job/start', { id: 'a' })
    await fiber.dispose()
    expect(session.log.at(1).data).toEqual({ id: 'a', why: '[gone]' })
  })

  it('holds in a fork, and cannot be left out by who creates a session', async () => {
    const ctx = await startHost({ redact: blank })
    const evading = { redact: undefined, now: undefined, seed: undefined }
    const session = ctx.sessions.create(evading as never)
    speaker(session).user('hunter2')
    const child = ctx.sessions.fork(session)
    speaker(child).user('hunter2')
    expect(JSON.stringify([...child.log])).not.toContain('hunter2')
  })

  it('keeps __proto__ as a key like any other', async () => {
    const session = await startSession((payload) => payload)
    const data = JSON.parse('{"callId":"a","name":"n","arguments":{"__proto__":{"x":1}}}') as never
    expect(JSON.stringify(session.append('tool/call', data).data)).toContain('"__proto__":{"x":1}')
    expect(({} as { x?: unknown }).x).toBeUndefined()
  })
})

function thrown(): never {
  throw new Error('hunter2')
}
