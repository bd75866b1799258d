import {
  isOrphaned,
  toolCall,
  turn,
  type AnySessionEvent,
  type Session,
  type Sessions,
} from '@tidemark/session-core'
import { beforeEach, describe, expect, it } from 'vitest'
import { startHost } from './host.ts'
import { codeOf } from './refusal.ts'

let sessions: Sessions

beforeEach(async () => {
  sessions = (await startHost()).sessions
})

const types = (session: Session): string[] => [...session.log].map(({ type }) => type)

describe('a boundary', () => {
  it('is not in a fresh session', () => {
    const session = sessions.create()
    expect([session.log.length, session.boundarySeq]).toEqual([0, undefined])
    expect(session.append('turn/start', {}).seq).toBe(0)
  })

  it('is the first event of a session with an explicitly empty seed', () => {
    for (const seed of [[], new Set<AnySessionEvent>(), sessions.create().seed()]) {
      const session = sessions.create({ seed })
      expect([types(session), session.boundarySeq]).toEqual([['session/resumed'], 0])
    }
  })

  it('has an empty payload, is required, and takes the host’s time', async () => {
    const ctx = await startHost({ now: () => 1234 })
    const event = ctx.sessions.create({ seed: [] }).log.at(0)
    expect(event).toEqual({ seq: 0, time: 1234, type: 'session/resumed', data: {} })
  })

  it('is added once for each resume that was written to, and never twice in a row', () => {
    let session = sessions.create()
    session.append('turn/start', {})
    for (let round = 0; round < 3; round++) session = sessions.create({ seed: [...session.log] })
    expect(types(session)).toEqual(['turn/start', 'session/resumed'])
    session.append('turn/start', {})
    session = sessions.create({ seed: [...session.log] })
    expect(types(session)).toEqual(['turn/start', 'session/resumed', 'turn/start', 'session/resumed'])
    expect(session.boundarySeq).toBe(3)
  })

  it('is added to a fork where its cut does not end in one', () => {
    const parent = sessions.create({ seed: [] })
    parent.append('turn/start', {})
    expect(types(sessions.fork(parent))).toEqual(['session/resumed', 'turn/start', 'session/resumed'])
    expect(types(sessions.fork(parent, { through: 0 }))).toEqual(['session/resumed'])
    expect(types(sessions.fork(sessions.create()))).toEqual(['session/resumed'])
  })

  it('G6: is written by the constructor and by nobody else', () => {
    const session = sessions.create()
    const append = session.append.bind(session) as (type: string, data: unknown, options?: object) => unknown
    expect(codeOf(() => append('session/resumed', {}))).toBe('RESERVED')
    expect(codeOf(() => append('session/resumed', {}, { ignorable: true }))).toBe('RESERVED')
    expect(session.log.length).toBe(0)
  })

  it('is not written by reading', () => {
    const events = [{ seq: 0, time: 0, type: 'turn/start', data: {} }]
    const view = sessions.view({ id: 'a', createdAt: 0 }, events)
    view.messages()
    expect([[...view.log], view.boundarySeq]).toEqual([events, undefined])
    expect(view.open(turn)).toMatchObject([{ seq: 0, status: 'live' }])
  })

  it('ends every operation before it: live turns, steps and calls become orphaned', () => {
    const session = sessions.create()
    session.append('turn/start', {})
    session.append('step/start', {})
    session.append('tool/call', { callId: 'a', name: 'n', arguments: {} })
    expect(session.open(toolCall)).toMatchObject([{ seq: 2, key: 2, bracket: 'tool', status: 'live' }])
    const resumed = sessions.create({ seed: [...session.log] })
    expect(resumed.open(turn)).toMatchObject([{ seq: 0, status: 'orphaned' }])
    expect(resumed.open(toolCall)).toMatchObject([{ seq: 2, status: 'orphaned' }])
    expect(resumed.open(toolCall)[0]?.event).toEqual(session.log.at(2))
    expect(session.open(turn)).toMatchObject([{ seq: 0, status: 'live' }])
  })

  it('leaves an opening after it live', () => {
    const resumed = sessions.create({ seed: [{ seq: 0, time: 0, type: 'turn/start', data: {} }] })
    resumed.append('turn/start', {})
    expect(resumed.open(turn)).toMatchObject([{ seq: 2, status: 'live' }])
    expect([isOrphaned(0, 1), isOrphaned(2, 1), isOrphaned(2, undefined)]).toEqual([true, false, false])
  })

  it('starts a lifecycle with an incarnation of its own under the same session id', async () => {
    const first = sessions.create({ id: 'a' })
    await sessions.dispose(first)
    const second = sessions.create({ seed: [...first.log], header: first.header })
    expect([second.id, second.incarnation === first.incarnation]).toEqual(['a', false])
    expect(sessions.create({ incarnation: 'given' }).incarnation).toBe('given')
  })
})
