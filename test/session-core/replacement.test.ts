import {
  defineBracket,
  type Definitions,
  type Replacement,
  type Session,
  type Sessions,
} from '@tidemark/session-core'
import type { Context } from 'cordis'
import { beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { guestDefinitions, sum } from './guest.ts'
import { define, startHost } from './host.ts'
import { complaints } from './pairing.ts'
import { codeOf } from './refusal.ts'
import { lines, speaker } from './speaker.ts'

let ctx: Context
let sessions: Sessions
let session: Session
let say: ReturnType<typeof speaker>

beforeEach(async () => {
  ctx = await startHost()
  await define(ctx, guestDefinitions)
  sessions = ctx.sessions
  session = sessions.create()
  say = speaker(session)
})

function summarize(from: number, through: number, text = 'sum', applied = true): void {
  session.append('sum/start', {})
  session.append('sum/note', { text })
  session.append('sum/end', { from, through, applied })
}

/** Live, read cold, in a fork: one answer. */
function everywhere(): string[] {
  const live = JSON.stringify(session.messages())
  const cold = sessions.view(session.header, JSON.parse(JSON.stringify([...session.log])) as [])
  expect(JSON.stringify(cold.messages())).toBe(live)
  expect(JSON.stringify(sessions.fork(session).messages())).toBe(live)
  expect(complaints(session.messages())).toEqual([])
  return lines(session)
}

describe('a closed bracket that replaces', () => {
  it('stands in the place of its range, and the events stay in the log', () => {
    for (const text of ['a', 'b', 'c', 'd']) say.user(text)
    summarize(1, 2)
    say.user('e')
    expect(everywhere()).toEqual(['user: a', 'user: sum', 'user: d', 'user: e'])
    expect([...session.log].filter(({ type }) => type === 'user/message')).toHaveLength(5)
    expect(session.log.at(6)).toMatchObject({ type: 'sum/end', replaces: true })
  })

  it('keeps what arrived while it was being made, after it and in order', () => {
    for (const text of ['a', 'b']) say.user(text)
    session.append('sum/start', {})
    say.user('c')
    session.append('sum/note', { text: 'sum' })
    say.user('d')
    expect(lines(session)).toEqual(['user: a', 'user: b', 'user: c', 'user: d'])
    session.append('sum/end', { from: 0, through: 1, applied: true })
    expect(everywhere()).toEqual(['user: sum', 'user: c', 'user: d'])
  })

  it('changes nothing when it failed', () => {
    say.user('a')
    const before = JSON.stringify(session.messages())
    summarize(0, 0, 'sum', false)
    everywhere()
    expect(JSON.stringify(session.messages())).toBe(before)
  })

  it('changes nothing when it was cut off, also when its note is in the log', () => {
    say.user('a')
    session.append('sum/start', {})
    session.append('sum/note', { text: 'sum' })
    const resumed = sessions.create({ seed: [...session.log] })
    expect(lines(resumed)).toEqual(['user: a'])
    expect(resumed.open(sum)).toMatchObject([{ seq: 1, status: 'orphaned' }])
    expect(codeOf(() => resumed.append('sum/end', { from: 0, through: 0, applied: true }))).toBe('NOT_OPEN')
    resumed.append('sum/start', {})
    resumed.append('sum/end', { from: 0, through: 0, applied: true })
    expect(lines(resumed)).toEqual([])
  })

  it('uses only the notes of its own bracket', () => {
    say.user('a')
    session.append('sum/start', {})
    session.append('sum/note', { text: 'lost' })
    session.abandon(sum, 1)
    summarize(0, 0, 'mine')
    expect(everywhere()).toEqual(['user: mine'])
  })

  it('shows nothing where it has nothing to show', () => {
    for (const text of ['a', 'b']) say.user(text)
    summarize(0, 0, '')
    expect(everywhere()).toEqual(['user: b'])
  })

  it('does nothing where its range holds nothing that is shown', () => {
    say.turn()
    say.user('a')
    summarize(0, 0)
    expect(everywhere()).toEqual(['user: a'])
  })

  it('may be replaced in turn, alone or with more', () => {
    for (const text of ['a', 'b', 'c']) say.user(text)
    summarize(0, 1, 'first')
    say.user('d')
    summarize(0, 2, 'second')
    expect(everywhere()).toEqual(['user: second', 'user: d'])
    summarize(0, 2, 'third')
    expect(everywhere()).toEqual(['user: third', 'user: d'])
    summarize(0, session.log.length - 1, 'all')
    expect(everywhere()).toEqual(['user: all'])
  })

  it('stays whole when a later range cuts it', () => {
    for (const text of ['a', 'b', 'c', 'd']) say.user(text)
    summarize(0, 2, 'first')
    summarize(2, 3, 'second')
    expect(everywhere()).toEqual(['user: first', 'user: second'])
  })
})

describe('a range', () => {
  it('that ends between a call and its result leaves both', () => {
    say.user('a')
    const seq = say.call()
    say.user('b')
    say.result(seq)
    summarize(0, 2)
    expect(everywhere()).toEqual(['user: sum', 'assistant: +call-1', 'tool: call-1=ok'])
  })

  it('that begins inside the calls of a message leaves the message whole', () => {
    say.said('calling')
    const seqs = [say.call('x'), say.call('y')]
    for (const seq of seqs) say.result(seq, 'done', seq === seqs[0] ? 'x' : 'y')
    say.user('a')
    summarize(2, 5)
    expect(everywhere()).toEqual([
      'assistant: calling +call-1 +call-2',
      'tool: call-1=ok call-2=ok',
      'user: sum',
    ])
  })

  it('that ends inside interrupted text leaves the text whole', () => {
    say.turn()
    say.chunk('one')
    say.user('steering')
    say.chunk(' two')
    say.endTurn()
    summarize(0, 2)
    expect(everywhere()).toEqual(['assistant: one two (interrupted)', 'user: sum'])
  })

  it('that takes a live call makes its result a late one: nothing of it is lost', () => {
    const seq = say.call()
    say.user('a')
    session.append('sum/start', {})
    session.append('sum/note', { text: 'sum' })
    session.append('sum/end', { from: 0, through: 1, applied: true })
    expect(everywhere()).toEqual(['user: sum'])
    say.result(seq, 'the answer')
    expect(everywhere()).toEqual(['user: sum', expect.stringContaining('the answer')])
  })

  it('does not take what came to a call while the summary was made', () => {
    const seq = say.call()
    session.append('sum/start', {})
    say.result(seq, 'the answer')
    session.append('sum/note', { text: 'sum' })
    session.append('sum/end', { from: 0, through: 0, applied: true })
    expect(JSON.stringify(session.messages())).toContain('the answer')
    expect(everywhere()).toEqual(['assistant: +call-0', 'tool: call-0=ok'])
  })

  it.each([
    [-1, 0],
    [1, 0],
    [0.5, 1],
    [0, 2],
    [0, 99],
  ])('from %d to %d is refused at its close where it does not lie before the opening', (from, through) => {
    for (const text of ['a', 'b']) say.user(text)
    session.append('sum/start', {})
    expect(codeOf(() => session.append('sum/end', { from, through, applied: true }))).toBe('INVALID_EVENT')
    session.append('sum/end', { from: 0, through: 1, applied: true })
    expect(everywhere()).toEqual([])
  })
})

describe('a replacement of a plugin', () => {
  function replacing(replaces: () => Replacement | undefined): Definitions {
    const any = { schema: z.any() }
    const events = { 'x/start': any, 'x/end': { ...any, replaces } }
    const bracket = defineBracket({ name: 'x', open: 'x/start' as never, close: 'x/end' as never })
    return { owner: 'x', events, brackets: [bracket] }
  }

  it.each<[string, () => unknown]>([
    ['throws', () => (undefined as unknown as { a: { b: never } }).a.b],
    ['shows a tool result', () => ({ from: 0, through: 0, messages: [{ role: 'tool', parts: [] }] })],
    ['shows no parts', () => ({ from: 0, through: 0, messages: [{ role: 'user' }] })],
    ['shows nothing it can', () => ({ from: 0, through: 0 })],
  ])('is refused at its close when it %s', async (_what, replaces) => {
    await define(ctx, replacing(replaces as () => Replacement))
    say.user('a')
    session.append('x/start' as never, {} as never)
    expect(codeOf(() => session.append('x/end' as never, {} as never))).toBe('INVALID_EVENT')
    expect(everywhere()).toEqual(['user: a'])
  })

  it('changes nothing when it was recorded as ignorable: others read the log without it', async () => {
    say.user('a')
    for (const type of ['x/start', 'x/end']) session.append(type, {}, { ignorable: true })
    await define(
      ctx,
      replacing(() => ({ from: 0, through: 0, messages: [] })),
    )
    expect(everywhere()).toEqual(['user: a'])
  })

  it('may show as many messages as it likes', async () => {
    const message = { role: 'user', parts: [{ type: 'text', author: 'system', text: 'a' }] } as const
    const messages = Array<typeof message>(150_000).fill(message)
    await define(
      ctx,
      replacing(() => ({ from: 0, through: 0, messages })),
    )
    say.user('a')
    session.append('x/start' as never, {} as never)
    session.append('x/end' as never, {} as never)
    expect(session.messages()).toHaveLength(150_000)
  })
})
