import { toolCall, turn, type AnySessionEvent, type Session, type Sessions } from '@tidemark/session-core'
import type { Context } from 'cordis'
import { beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { guestDefinitions, sum, watch } from './guest.ts'
import { define, load, startHost } from './host.ts'
import { complaints } from './pairing.ts'
import { codeOf, refusalOf } from './refusal.ts'
import { lines, resultShown, speaker } from './speaker.ts'

let ctx: Context
let sessions: Sessions
let session: Session
let say: ReturnType<typeof speaker>

beforeEach(async () => {
  ctx = await startHost()
  await define(ctx, guestDefinitions)
  sessions = ctx.sessions
  session = sessions.create({ id: 's' })
  say = speaker(session)
})

const copy = (of: Session): AnySessionEvent[] => JSON.parse(JSON.stringify([...of.log])) as []
const resume = (of = session): Session => sessions.create({ seed: copy(of) })
const text = (of: Session): string => JSON.stringify(of.messages())
const event = (seq: number, type: string, data: unknown = {}): AnySessionEvent => ({
  seq,
  time: 0,
  type,
  data,
})

function summarize(from: number, through: number): void {
  session.append('sum/start', {})
  session.append('sum/note', { text: 'sum' })
  session.append('sum/end', { from, through, applied: true })
}

describe('replaced history', () => {
  it('D08: what arrives while a summary is made stands after it, in order', () => {
    for (let seq = 0; seq <= 100; seq++) say.user(String(seq))
    session.append('sum/start', {})
    say.user('101')
    session.append('sum/note', { text: 'sum' })
    say.user('102')
    session.append('sum/end', { from: 0, through: 100, applied: true })
    expect(lines(session)).toEqual(['user: sum', 'user: 101', 'user: 102'])
  })

  it('D10: the view is byte-equal live, cold and in a fork, and smaller than before', () => {
    for (let seq = 0; seq < 50; seq++) say.user(String(seq))
    const before = text(session).length
    summarize(0, 40)
    expect(text(session).length).toBeLessThan(before)
    const cold = sessions.view(session.header, copy(session))
    expect(JSON.stringify(cold.messages())).toBe(text(session))
    expect([text(resume()), text(sessions.fork(session))]).toEqual([text(session), text(session)])
  })

  it('F01: a range that ends between a call and its result splits no pair', () => {
    for (let seq = 0; seq < 10; seq++) say.user('before')
    const seq = say.call()
    for (let count = 0; count < 29; count++) say.user('between')
    expect(say.result(seq)).toBe(40)
    summarize(1, 30)
    expect(complaints(session.messages())).toEqual([])
    expect(resultShown(session, 10).outcome).toBe('ok')
  })

  it('F03: five calls, three results, a crash: the view is valid at once, and after a summary', () => {
    say.turn()
    say.said('calling')
    const seqs = ['a', 'b', 'c', 'd', 'e'].map((callId) => say.call(callId))
    seqs.slice(0, 3).forEach((seq, index) => say.result(seq, 'done', ['a', 'b', 'c'][index]))
    const resumed = resume()
    expect(complaints(resumed.messages())).toEqual([])
    expect(lines(resumed)[1]).toBe('tool: call-2=ok call-3=ok call-4=ok call-5=unknown call-6=unknown')
    resumed.append('sum/start', {})
    resumed.append('sum/end', { from: 0, through: resumed.log.length - 2, applied: true })
    speaker(resumed).user('go on')
    expect(lines(resumed)).toEqual(['user: go on'])
  })

  it('F08: a call that was replaced gets no synthetic result, and a new call is not touched', () => {
    say.call()
    summarize(0, 0)
    const seq = say.call('b')
    expect([...session.log].filter(({ type }) => type === 'tool/result')).toEqual([])
    expect(lines(session)).toEqual(['user: sum', `assistant: +call-${seq}`, `tool: call-${seq}=running`])
  })
})

describe('a log that ends badly', () => {
  it.each<[string, unknown]>([
    ['assistant/message', { parts: [] }],
    ['assistant/message', { parts: [{ type: 'text', text: '' }] }],
    ['assistant/chunk', { kind: 'text', text: '' }],
    ['assistant/chunk', { kind: 'call', text: '' }],
    ['tool/call', { callId: '', name: 'n', arguments: null }],
    ['turn/end', { reason: 'failed' }],
    ['tool/result', { callId: '', callSeq: 99, outcome: 'ok', parts: [] }],
  ])('F10: a tail of %s %j is resumed, and goes on', (type, data) => {
    const seed = [event(0, 'turn/start'), event(1, type, data)]
    for (let round = 0; round < 3; round++) {
      const resumed = sessions.create({ seed })
      expect([resumed.log.length, complaints(resumed.messages())]).toEqual([3, []])
      speaker(resumed).turn()
      speaker(resumed).user('go on')
      expect(lines(resumed).at(-1)).toBe('user: go on')
    }
  })

  it('F11: a takeover in the living process settles a call as a restart does', async () => {
    const own: Session[] = []
    const use = (guest: Context): void => {
      const seed = own.at(-1) && copy(own.at(-1)!)
      own.push(guest.sessions.create({ id: 'hot', ...(seed && { seed }) }))
    }
    const fiber = await load(ctx, use)
    speaker(own[0]!).turn()
    const seq = speaker(own[0]!).call()
    await fiber.restart()
    expect(own).toHaveLength(2)
    speaker(own[1]!).user('go on')
    expect(resultShown(own[1]!, seq).outcome).toBe('unknown')
    expect(lines(own[1]!)).toEqual(lines(speakTo(resume(own[0]), 'go on')))
  })
})

function speakTo(to: Session, words: string): Session {
  speaker(to).user(words)
  return to
}

describe('call ids', () => {
  it('F13: the same id twice, and the empty one, keep all pairs; none is refused', () => {
    say.turn()
    for (const callId of ['call_0', 'call_0', '', '']) {
      say.step()
      say.result(say.call(callId), `of ${callId}`, callId)
      say.endStep()
    }
    const { parts } = session.messages()[3]!
    expect(parts).toMatchObject([{ outcome: 'ok', parts: [{ text: 'of call_0' }] }])
    expect(session.messages()).toHaveLength(8)
    expect(complaints(session.messages())).toEqual([])
    const call = { callId: undefined, name: 'n', arguments: {} } as never
    expect(codeOf(() => session.append('tool/call', call))).toBe('INVALID_PAYLOAD')
  })
})

describe('forks', () => {
  it('FR-G01: what runs in the parent does not run in the child; what has ended is there with its end', () => {
    session.append('watch/start', { id: 'a' })
    const first = sessions.fork(session)
    session.append('watch/end', { id: 'a' })
    const second = sessions.fork(session)
    expect(first.open(watch).filter(({ status }) => status === 'live')).toEqual([])
    expect(second.open(watch)).toEqual([])
    expect(second.log.at(1).type).toBe('watch/end')
  })

  it('FR-G02: the child shows a call of the parent as going on there, and the parent gets its result', () => {
    say.turn()
    const seq = say.call()
    const child = sessions.fork(session)
    expect([resultShown(child, seq).outcome, complaints(child.messages())]).toEqual(['in-parent', []])
    expect(session.log.length).toBe(2)
    say.result(seq)
    expect(resultShown(session, seq).outcome).toBe('ok')
    expect(resultShown(child, seq).outcome).toBe('in-parent')
  })

  it('FR-G06: what is appended to a fork goes to it alone, and it names its parent also at seq 0', () => {
    say.user('first')
    const child = sessions.fork(session, { through: 0 })
    const before = copy(session)
    speaker(child).user('child')
    expect(copy(session)).toEqual(before)
    expect(child.header.parent).toEqual({ id: 's', seq: 0 })
    expect(sessions.fork(sessions.create({ id: 'e' })).header.parent).toEqual({ id: 'e', seq: -1 })
  })

  it.each([12.1, -1, NaN, '12', 1, 2 ** 53])(
    'FR-G10: a fork at %s is refused by a typed error',
    (through) => {
      say.user('only')
      expect(codeOf(() => sessions.fork(session, { through: through as number }))).toBe('INVALID_SEQ')
    },
  )

  it('FR-G11: what is inherited can be told from what is a session’s own, so totals count once', () => {
    const spend = (of: Session): unknown =>
      of.append('assistant/message', { parts: [], meta: { tokens: 10 } })
    spend(session)
    spend(session)
    const child = sessions.fork(session, { through: 0 })
    spend(child)
    const grandchild = sessions.fork(child)
    spend(grandchild)
    const own = ({ log, header }: Session): AnySessionEvent[] => [
      ...log.range((header.parent?.seq ?? -1) + 1),
    ]
    const spent = [session, child, grandchild].flatMap(own).filter(({ type }) => type === 'assistant/message')
    expect(spent).toHaveLength(4)
    expect([child.boundarySeq, grandchild.boundarySeq]).toEqual([1, 3])
  })
})

describe('vocabulary', () => {
  it('I01: what can be appended can be read back without its plugin, or is refused at once', () => {
    expect(codeOf(() => session.append('x/plugin' as never, {} as never))).toBe('UNKNOWN_TYPE')
    for (let count = 0; count < 4; count++) session.append('x/plugin', { count }, { ignorable: true })
    expect([...resume().log].slice(0, 4)).toEqual([...session.log])
  })

  it('I05: an unknown required type is named, with its seq', () => {
    const seed = [event(0, 'turn/start'), event(1, 'future/thing')]
    const { code, details } = refusalOf(() => sessions.create({ seed }))
    expect([code, details.type, details.seq]).toEqual(['UNKNOWN_TYPE', 'future/thing', 1])
  })

  it('I11: a call that was aborted with empty input stays readable when its schema is tightened', async () => {
    const events = (schema: z.ZodType) => ({ owner: 'x', events: { 'x/call': { schema } } })
    const fiber = await define(ctx, events(z.looseObject({})))
    say.turn()
    const seq = say.call()
    session.append('x/call' as never, {} as never)
    say.endTurn()
    await fiber.dispose()
    await define(ctx, events(z.strictObject({ input: z.string().min(1) })))
    const resumed = resume()
    expect([resumed.log.length, resultShown(resumed, seq).outcome]).toEqual([5, 'interrupted'])
  })
})

describe('payloads', () => {
  it('L02: text that is cut anywhere round trips, and is well-formed where a model sees it', () => {
    const emoji = '👻'.repeat(50)
    for (let cut = 0; cut <= emoji.length; cut++) say.user(`${emoji.slice(0, cut)}.`)
    for (const half of ['a\ud83c', '\udff7b']) say.user(half)
    expect([...resume().log].slice(0, -1)).toEqual([...session.log])
    expect(complaints(session.messages())).toEqual([])
  })

  it.each(['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty'])(
    'L06: %s is a name like any other: as id, as type, as key',
    (name) => {
      const data = JSON.parse(`{"${name}":{"x":1}}`) as never
      const own = sessions.create({ id: name, meta: data })
      own.append(`${name}/a`, data, { ignorable: true })
      own.append('watch/start', { id: name })
      expect(sessions.find(name)).toBe(own)
      expect(sessions.create({ seed: copy(own) }).open(watch)).toMatchObject([{ key: name }])
      expect(Object.keys(own.log.at(0).data)).toEqual([name])
      expect([({} as { x?: unknown }).x, (Object as { x?: unknown }).x]).toEqual([undefined, undefined])
    },
  )

  it('L08: what JSON has not is refused before a seq is used', () => {
    const circular: Record<string, unknown> = {}
    circular.self = circular
    let deep: unknown = 0
    for (let level = 0; level < 10_000; level++) deep = [deep]
    for (const value of [0n, Symbol('a'), () => 1, circular, deep, new Proxy({}, {})]) {
      expect(codeOf(() => session.append('x/a', { value } as never, { ignorable: true }))).toBe(
        'INVALID_PAYLOAD',
      )
    }
    expect(say.turn()).toBe(0)
  })

  it('L10: the first run and a replay see the same value, whatever is done to the argument later', () => {
    const data = { parts: [{ type: 'text', author: 'human', text: 'a' }] } as const
    const live = session.append('user/message', data)
    expect(() => ((data.parts[0] as { text: string }).text = 'b')).toThrow(TypeError)
    expect(resume().log.at(0)).toEqual(live)
    expect(text(resume())).toBe(text(session))
  })
})

it('N05, G1: a clock that steps orders, refuses and expires nothing', async () => {
  let now = 1_000_000
  const host = await startHost({ now: () => now })
  const own = host.sessions.create()
  const told = [
    ...Array<number>(10).fill(now),
    now - 3_600_000,
    now + 315_360_000_000,
    ...Array<number>(1_000).fill(7),
  ]
  told.forEach((time, index) => {
    now = time
    speaker(own).user(String(index))
  })
  now = NaN
  speaker(own).turn()
  expect([...own.log].map(({ time }) => time)).toEqual([...told, 0])
  const replay = host.sessions.create({ seed: copy(own) })
  expect(lines(replay)).toEqual(told.map((_, index) => `user: ${index}`))
  expect(replay.open(turn)).toMatchObject([{ seq: told.length, status: 'orphaned' }])
  expect(replay.open(toolCall).concat(replay.open(sum))).toEqual([])
})
