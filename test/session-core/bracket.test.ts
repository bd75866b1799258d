import { defineBracket, orphanedMax, step, toolCall, turn, type Session } from '@tidemark/session-core'
import type { Context } from 'cordis'
import { beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { define, startHost } from './host.ts'
import { guestDefinitions, job, sum, watch } from './guest.ts'
import { codeOf, refusalOf } from './refusal.ts'

let ctx: Context
let session: Session

beforeEach(async () => {
  ctx = await startHost()
  await define(ctx, guestDefinitions)
  session = ctx.sessions.create()
})

const end = { reason: 'completed' } as const
const call = (callId = 'a'): number => session.append('tool/call', { callId, name: 'n', arguments: {} }).seq
const result = (callSeq: number, callId = 'a', of = session): number =>
  of.append('tool/result', { callId, callSeq, outcome: 'ok', parts: [] }).seq
const liveSeqs = (): Record<string, number[]> =>
  Object.fromEntries(
    [turn, step, toolCall, job, watch, sum].map((bracket) => [
      bracket.name,
      session.open(bracket).map(({ seq }) => seq),
    ]),
  )
const resume = (): Session => ctx.sessions.create({ seed: [...session.log] })

describe('the end of what encloses it', () => {
  beforeEach(() => {
    session.append('watch/start', { id: 'w' })
    session.append('turn/start', {})
    session.append('job/start', { id: 'in turn' })
    session.append('step/start', {})
    call()
    session.append('job/start', { id: 'in step' })
  })

  it('abandons what a step left open, and not what the turn did', () => {
    session.append('step/end', {})
    expect(liveSeqs()).toEqual({ turn: [1], step: [], tool: [], job: [2], watch: [0], sum: [] })
  })

  it('abandons with the next step what the step before left open', () => {
    session.append('step/start', {})
    expect(liveSeqs()).toEqual({ turn: [1], step: [6], tool: [], job: [2], watch: [0], sum: [] })
  })

  it('abandons everything that a turn left open, but not what outlives turns', () => {
    session.append('turn/end', end)
    expect(liveSeqs()).toEqual({ turn: [], step: [], tool: [], job: [], watch: [0], sum: [] })
  })

  it('abandons with the next turn what the turn before left open', () => {
    session.append('turn/start', {})
    expect(liveSeqs()).toEqual({ turn: [6], step: [], tool: [], job: [], watch: [0], sum: [] })
  })

  it('leaves nothing to close afterwards, except a late result', () => {
    session.append('turn/end', end)
    expect(codeOf(() => session.append('turn/end', end))).toBe('NOT_OPEN')
    expect(codeOf(() => session.append('step/end', {}))).toBe('NOT_OPEN')
    expect(codeOf(() => session.append('job/end', { id: 'in turn' }))).toBe('NOT_OPEN')
    expect(result(4)).toBe(7)
    session.append('watch/end', { id: 'w' })
  })
})

describe('a step outside any turn', () => {
  it('encloses its calls, and ends with the next turn', () => {
    session.append('step/start', {})
    call()
    session.append('turn/start', {})
    expect(liveSeqs()).toMatchObject({ turn: [2], step: [], tool: [] })
    expect(codeOf(() => session.append('step/end', {}))).toBe('NOT_OPEN')
  })

  it('is not ended by an end of a turn that history holds without a turn', () => {
    const types = ['step/start', 'tool/call', 'turn/end', 'step/end']
    const data = [{}, { callId: 'a', name: 'n', arguments: {} }, end, {}]
    const events = types.map((type, seq) => ({ seq, time: 0, type, data: data[seq] }))
    const before = ctx.sessions.view(session.header, events.slice(0, 3))
    expect([before.open(step).length, before.open(toolCall).length]).toEqual([1, 1])
    const after = ctx.sessions.view(session.header, events)
    expect([after.open(step), after.open(toolCall)]).toEqual([[], []])
  })

  it('leaves what was opened before it alone', () => {
    call()
    session.append('step/start', {})
    session.append('step/end', {})
    expect(liveSeqs()).toMatchObject({ step: [], tool: [0] })
  })
})

describe('a closing event', () => {
  it('G8: is refused without an opening, and says what is orphaned', () => {
    expect(codeOf(() => session.append('step/end', {}))).toBe('NOT_OPEN')
    session.append('turn/start', {})
    session.append('job/start', { id: 'a' })
    const resumed = resume()
    for (const close of [
      () => resumed.append('turn/end', end),
      () => resumed.append('job/end', { id: 'a' }),
      () => resumed.append('step/end', {}),
    ]) {
      expect(codeOf(close)).toBe('NOT_OPEN')
    }
    expect(resumed.log.last?.type).toBe('session/resumed')
  })

  it('closes the one with its key', () => {
    session.append('job/start', { id: 'a' })
    session.append('job/start', { id: '__proto__' })
    expect(codeOf(() => session.append('job/end', { id: 'b' }))).toBe('NOT_OPEN')
    session.append('job/end', { id: '__proto__' })
    expect(session.open(job).map(({ key }) => key)).toEqual(['a'])
  })
})

describe('an opening event', () => {
  it('is refused while one with its key is live, which it names', () => {
    session.append('job/start', { id: 'a' })
    const { code, details } = refusalOf(() => session.append('job/start', { id: 'a' }))
    expect([code, details.seq]).toEqual(['ALREADY_OPEN', 0])
    expect(session.append('job/start', { id: 'b' }).seq).toBe(1)
  })

  it('takes the place of an orphaned one with its key', () => {
    session.append('job/start', { id: 'a' })
    const resumed = resume()
    resumed.append('job/start', { id: 'a' })
    expect(resumed.open(job)).toMatchObject([{ seq: 2, status: 'live' }])
  })

  it('is at most one at a time where the bracket has no key', () => {
    session.append('sum/start', {})
    expect(codeOf(() => session.append('sum/start', {}))).toBe('ALREADY_OPEN')
  })
})

describe('a result', () => {
  it('is accepted once while its call is live', () => {
    const seq = call()
    result(seq)
    expect(codeOf(() => result(seq))).toBe('NOT_OPEN')
    expect(session.open(toolCall)).toEqual([])
  })

  const late: Readonly<Record<string, () => Session>> = {
    'after its step': () => (session.append('step/end', {}), session),
    'after its turn': () => (session.append('turn/end', end), session),
    'after the next turn started': () => (session.append('turn/start', {}), session),
    'after a boundary': resume,
    'in a fork': () => ctx.sessions.fork(session),
  }
  it.each(Object.entries(late))('G8: is accepted once when it comes late: %s', (_when, later) => {
    session.append('turn/start', {})
    session.append('step/start', {})
    const seq = call()
    const now = later()
    expect(now.append('user/message', { parts: [] }).seq).toBe(now.log.length - 1)
    result(seq, 'a', now)
    expect(codeOf(() => result(seq, 'a', now))).toBe('NOT_OPEN')
    expect(now.open(toolCall)).toEqual([])
  })

  it('is accepted after a boundary that came after its turn', () => {
    session.append('turn/start', {})
    const seq = call()
    session.append('turn/end', end)
    const resumed = resume()
    expect(resumed.open(toolCall)).toEqual([])
    expect(result(seq, 'a', resumed)).toBe(4)
  })

  it('is refused when nothing was called at its seq', () => {
    session.append('turn/start', {})
    for (const seq of [0, 1, 99]) expect(codeOf(() => result(seq))).toBe('NOT_OPEN')
  })

  it('finds its call by seq where the provider gives the same id twice, or none', () => {
    const seqs = ['call_0', 'call_0', '', ''].map((callId) => call(callId))
    result(seqs[3]!, '')
    result(seqs[0]!, 'call_0')
    expect(session.open(toolCall).map(({ seq }) => seq)).toEqual([seqs[1], seqs[2]])
    expect(codeOf(() => result(seqs[1]!, ''))).toBe('INVALID_EVENT')
  })
})

describe('a bracket on a type of another owner', () => {
  const any = { schema: z.any() }

  it('follows along and never keeps core’s events from being recorded', async () => {
    const bracket = defineBracket({
      name: 'tail',
      open: 'tool/call',
      close: ['tail/end', 'turn/end'] as never,
    })
    await define(ctx, { owner: 'tail', events: { 'tail/end': any }, brackets: [bracket] })
    session.append('turn/start', {})
    call()
    call()
    expect(session.open(bracket).map(({ seq }) => seq)).toEqual([2])
    session.append('turn/end', end)
    expect(session.open(bracket)).toEqual([])
    session.append('turn/start', {})
    session.append('turn/end', end)
    expect(codeOf(() => session.append('tail/end' as never, {} as never))).toBe('NOT_OPEN')
  })
})

describe('a key that throws', () => {
  it('refuses the event and records nothing', async () => {
    const key = (): never => {
      throw new Error('key')
    }
    const bracket = defineBracket({ name: 'bad', open: 'bad/a' as never, close: 'bad/b' as never, key })
    const any = { schema: z.any() }
    await define(ctx, { owner: 'bad', events: { 'bad/a': any, 'bad/b': any }, brackets: [bracket] })
    expect(codeOf(() => session.append('bad/a' as never, {} as never))).toBe('INVALID_EVENT')
    expect(session.append('turn/start', {}).seq).toBe(0)
  })
})

describe('what is remembered of orphaned openings', () => {
  it('is bounded: the newest are kept, and the oldest takes no late result any more', () => {
    for (let count = 0; count <= orphanedMax; count++) call()
    const resumed = resume()
    const open = resumed.open(toolCall)
    expect([open.length, open[0]?.seq]).toEqual([orphanedMax, 1])
    expect(codeOf(() => result(0, 'a', resumed))).toBe('NOT_OPEN')
    expect(result(1, 'a', resumed)).toBe(orphanedMax + 2)
  })
})
