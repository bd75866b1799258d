import type { AnySessionEvent, Session, SessionRecovered } from '@tidemark/session-core'
import { turn } from '@tidemark/session-core'
import type { Context } from 'cordis'
import { beforeEach, describe, expect, it } from 'vitest'
import { isDeepFrozen } from './frozen.ts'
import { startHost } from './host.ts'
import { FakeRecorder } from './recorder.ts'
import { codeOf, refusalOf } from './refusal.ts'

let ctx: Context
beforeEach(async () => {
  ctx = await startHost({ now: () => 77 })
})

const record = (more: Partial<SessionRecovered> = {}): SessionRecovered => ({
  reason: 'torn',
  segment: '000001-000.jsonl',
  offset: 512,
  sizeBytes: 40,
  digest: 'd'.repeat(64),
  lastSeq: 1,
  durableSeq: 1,
  evidence: 'head',
  ...more,
})

const opened: AnySessionEvent = { seq: 0, time: 5, type: 'turn/start', data: {} }
const boundary: AnySessionEvent = { seq: 1, time: 5, type: 'session/resumed', data: {} }
const types = (session: Session): string[] => [...session.log].map(({ type }) => type)

describe('what recoveries found', () => {
  it('stands before the boundary, one event for each, in order', () => {
    const recovered = [record({ offset: 1 }), record({ offset: 2 })]
    const session = ctx.sessions.create({ seed: [opened], recovered })
    const events = [...session.log].slice(1)
    expect(events).toEqual([
      { seq: 1, time: 77, type: 'session/recovered', data: recovered[0] },
      { seq: 2, time: 77, type: 'session/recovered', data: recovered[1] },
      { seq: 3, time: 77, type: 'session/resumed', data: {} },
    ])
    expect(events.every(isDeepFrozen)).toBe(true)
    expect(session.boundarySeq).toBe(3)
    expect(session.open(turn)).toMatchObject([{ seq: 0, status: 'orphaned' }])
  })

  it('is followed by a boundary also where the seed ends in one, and none is added without it', () => {
    const seed = [opened, boundary]
    expect(types(ctx.sessions.create({ seed, recovered: [record()] }))).toEqual([
      'turn/start',
      'session/resumed',
      'session/recovered',
      'session/resumed',
    ])
    expect(types(ctx.sessions.create({ seed, recovered: [] }))).toEqual(['turn/start', 'session/resumed'])
    expect(types(ctx.sessions.create({ seed: [], recovered: [record()] }))).toEqual([
      'session/recovered',
      'session/resumed',
    ])
  })

  it('is no live event, and reaches the writer before the boundary', () => {
    const heard: string[] = []
    ctx.on('tidemark/event', (_session, { type }) => void heard.push(type))
    const recorder = new FakeRecorder()
    ctx.sessions.create({ seed: [opened], recovered: [record()], recorder })
    expect(recorder.admitted.map(({ seq, type }) => [seq, type])).toEqual([
      [1, 'session/recovered'],
      [2, 'session/resumed'],
    ])
    expect(heard).toEqual([])
  })

  it('changes nothing of what the model sees', () => {
    const seed: AnySessionEvent[] = [
      opened,
      { seq: 1, time: 5, type: 'assistant/chunk', data: { kind: 'text', text: 'half' }, ignorable: true },
    ]
    const recovered = ctx.sessions.create({ seed, recovered: [record()] })
    expect(recovered.messages()).toEqual(ctx.sessions.create({ seed }).messages())
  })

  it('is read back by every later start as it was recorded', () => {
    const first = ctx.sessions.create({ seed: [opened], recovered: [record()] })
    const again = ctx.sessions.create({ seed: JSON.parse(JSON.stringify([...first.log])) as [] })
    expect([...again.log]).toEqual([...first.log])
  })

  it('needs history: a fresh session was never recovered', () => {
    const refusal = refusalOf(() => ctx.sessions.create({ id: 'a', recovered: [record()] }))
    expect(refusal.code).toBe('INVALID_SEED')
    expect(ctx.sessions.find('a')).toBe(undefined)
    expect(ctx.sessions.create({ id: 'a', recovered: [] }).log.length).toBe(0)
  })

  it.each([
    ['a field too few', { ...record(), evidence: undefined }],
    ['a field too many', { ...record(), secret: 'x' }],
    ['an offset below 0', record({ offset: -1 })],
    ['a last seq below -1', record({ lastSeq: -2 })],
    ['no object', null],
  ])('that has %s is refused, and nothing was created', (_what, wrong) => {
    const recorder = new FakeRecorder()
    const recovered = [record(), wrong as unknown as SessionRecovered]
    const refusal = refusalOf(() => ctx.sessions.create({ id: 'a', seed: [opened], recovered, recorder }))
    expect(['INVALID_EVENT', 'INVALID_PAYLOAD']).toContain(refusal.code)
    expect(refusal.details).toMatchObject({ type: 'session/recovered', seq: 2 })
    expect(recorder.admitted).toEqual([])
    expect(ctx.sessions.find('a')).toBe(undefined)
  })

  it('is told on the bus with the session, in order with everything else', () => {
    const heard: unknown[] = []
    const found = record()
    ctx.on('tidemark/created', (session) => {
      ctx.sessions.tellRecovered(session, found)
      session.append('turn/start', {})
      heard.push('created')
    })
    ctx.on('tidemark/event', (_session, { type }) => void heard.push(type))
    ctx.on('tidemark/recovered', (session, told) => void heard.push([session.id, told]))
    ctx.sessions.create({ id: 'a' })
    expect(heard).toEqual(['created', ['a', found], 'turn/start'])
  })

  it('is appended by nobody else', () => {
    const session = ctx.sessions.create({ seed: [] })
    expect(codeOf(() => session.append('session/recovered', record()))).toBe('RESERVED')
  })
})
