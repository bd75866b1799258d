import { describe, expect, it } from 'vitest'
import { complaints } from '../session-core/pairing.ts'
import { answer, call, codeOf, cold, crash, load, seen, sessionOf, startHost, types } from './host.ts'
import { held, saying } from './summarizers.ts'

const said = (text: string) => ({ parts: [{ type: 'text' as const, text, author: 'human' as const }] })
const answered = (text: string) => ({ parts: [{ type: 'text' as const, text }] })

describe('the default range', () => {
  it('goes from the first seq to the last one before the retained messages', async () => {
    const ctx = await startHost({ retainMessages: 3 })
    const session = ctx.sessions.create()
    for (let record = 0; record < 10; record++) session.append('user/message', said(`the record ${record}`))
    expect(ctx.compaction.plan(session)).toMatchObject({ kind: 'replace', range: { from: 0, through: 6 } })
    const wide = ctx.compaction.plan(session, { retainMessages: 0 })
    expect(wide).toMatchObject({ range: { from: 0, through: 9 } })
    expect(ctx.compaction.plan(session, { retainMessages: 10 })).toEqual({
      kind: 'nothing',
      reason: 'too-short',
    })
    expect(session.log.length).toBe(10)
    for (const retainMessages of [-1, 1.5, NaN]) {
      expect(await codeOf(() => ctx.compaction.plan(session, { retainMessages }))).toBe('INVALID_SEQ')
    }
  })

  it('F01: retains a call with its result, however the retained messages are counted', async () => {
    const ctx = await startHost()
    const session = sessionOf(ctx, 6)
    session.append('turn/start', {})
    session.append('step/start', {})
    const asked = session.append('assistant/message', answered('let me look'))
    const one = call(session, 'a')
    session.append('user/message', said('and hurry'))
    answer(session, one)
    session.append('step/end', {})
    session.append('turn/end', { reason: 'completed' })
    for (let retainMessages = 0; retainMessages < 6; retainMessages++) {
      const plan = ctx.compaction.plan(session, { retainMessages })
      const { through } = plan.kind === 'replace' ? plan.range : { through: NaN }
      expect(through < asked.seq || through === session.log.length - 1).toBe(true)
      const child = ctx.sessions.fork(session)
      await ctx.compaction.compact(child, { retainMessages, summarizer: saying('short') })
      expect(complaints(child.messages())).toEqual([])
      expect(seen(child).includes('let me look')).toBe(through < asked.seq)
      expect(seen(child)).toBe(cold(ctx, child))
    }
  })

  it('never reaches into a live call; an abandoned or orphaned one holds nothing up', async () => {
    const ctx = await startHost({ retainMessages: 0 })
    const session = sessionOf(ctx, 6)
    const turn = session.append('turn/start', {})
    const open = call(session, 'open')
    session.append('user/message', said('hurry'))
    expect(ctx.compaction.plan(session)).toMatchObject({ range: { through: turn.seq } })
    const whole = { range: { from: 0, through: crash(ctx, session).log.length - 1 } }
    expect(ctx.compaction.plan(crash(ctx, session))).toMatchObject(whole)
    session.append('turn/end', { reason: 'interrupted' })
    expect(ctx.compaction.plan(session)).toMatchObject({ range: { through: session.log.length - 1 } })
    const { summarizer, answer: sum } = held()
    const running = ctx.compaction.compact(session, { summarizer })
    answer(session, open, 'late')
    sum('short')
    await running
    expect(session.messages().length).toBe(2)
    expect(complaints(session.messages())).toEqual([])
  })

  it('may lie after a live call, where more is gained: the result joins its call all the same', async () => {
    const ctx = await startHost({ retainMessages: 0 })
    const session = sessionOf(ctx, 1)
    session.append('step/start', {})
    session.append('assistant/message', answered('let me look'))
    const open = call(session, 'open')
    for (let turn = 0; turn < 6; turn++) session.append('user/message', said(`hurry ${'now '.repeat(50)}`))
    const range = { from: open.seq + 1, through: session.log.length - 1 }
    expect(ctx.compaction.plan(session)).toMatchObject({ kind: 'replace', range })
    expect(await ctx.compaction.compact(session)).toMatchObject({ outcome: 'applied', range })
    expect(
      session
        .messages()
        .slice(2)
        .map(({ role }) => role),
    ).toEqual(['assistant', 'tool', 'user'])
    expect(complaints(session.messages())).toEqual([])
    expect(seen(session)).toBe(cold(ctx, session))
    const child = ctx.sessions.fork(session)
    answer(session, open, 'the answer')
    expect(session.messages()[3]).toMatchObject({ role: 'tool', parts: [{ outcome: 'ok' }] })
    expect(session.messages()[4]?.role).toBe('user')
    expect(seen(session)).toBe(cold(ctx, session))
    expect(child.messages()[3]).toMatchObject({ role: 'tool', parts: [{ outcome: 'in-parent' }] })
    for (const each of [session, child]) {
      expect(complaints(each.messages())).toEqual([])
      const whole = { outcome: 'applied', range: { from: 0, through: each.log.length - 1 } }
      expect(await ctx.compaction.compact(each, { summarizer: saying('short') })).toMatchObject(whole)
      expect(each.messages().length).toBe(1)
    }
  })

  it('F08: compaction appends nothing for calls that it replaces, and leaves a live one alone', async () => {
    const ctx = await startHost({ retainMessages: 0 })
    const session = sessionOf(ctx, 6)
    session.append('turn/start', {})
    call(session, 'a')
    session.append('turn/end', { reason: 'interrupted' })
    session.append('turn/start', {})
    const live = call(session, 'b')
    const length = session.log.length
    await ctx.compaction.compact(session)
    expect(types(session, length)).toEqual(['compact/start', 'compact/summary', 'compact/end'])
    answer(session, live, 'of b')
    expect(session.messages().at(-1)).toMatchObject({ role: 'tool', parts: [{ outcome: 'ok' }] })
    expect(complaints(session.messages())).toEqual([])
    expect(seen(session)).toBe(cold(ctx, session))
  })
})

describe('a range of the caller', () => {
  it('F01: that splits a call from its result is refused and names the nearest place', async () => {
    const ctx = await startHost()
    const session = ctx.sessions.create()
    for (let record = 0; record < 10; record++) session.append('user/message', said(`record ${record}`))
    const one = call(session, 'a')
    for (let record = 11; record < 40; record++) session.append('user/message', said(`record ${record}`))
    answer(session, one)
    session.append('user/message', said('after'))
    const length = session.log.length
    const range = { from: 1, through: 30 }
    await expect(ctx.compaction.compact(session, { range })).rejects.toMatchObject({
      code: 'INVALID_SEQ',
      details: { seq: 9 },
    })
    await expect(ctx.compaction.compact(session, { range: { from: 10, through: 30 } })).rejects.toMatchObject(
      {
        code: 'INVALID_SEQ',
        details: { seq: 40 },
      },
    )
    expect(session.log.length).toBe(length)
    for (const through of [9, 40]) {
      const child = ctx.sessions.fork(session)
      const result = await ctx.compaction.compact(child, {
        range: { from: 1, through },
        summarizer: saying('short'),
      })
      expect(result).toMatchObject({ outcome: 'applied', range: { from: 1, through } })
      expect(complaints(child.messages())).toEqual([])
    }
  })

  it('F01: that somebody recorded unchecked leaves a pair whole that it cuts through', async () => {
    const ctx = await startHost()
    const session = ctx.sessions.create()
    session.append('user/message', said('before'))
    const one = call(session, 'a')
    session.append('user/message', said('hurry'))
    answer(session, one, 'the answer')
    session.append('compact/start', { id: 'x', trigger: 'manual', range: { from: 0, through: 2 } })
    session.append('compact/summary', { id: 'x', text: 'short', facts: [] })
    session.append('compact/end', { id: 'x', outcome: 'applied' })
    expect(session.messages().map(({ role }) => role)).toEqual(['user', 'assistant', 'tool'])
    expect(seen(session)).toContain('the answer')
    expect(complaints(session.messages())).toEqual([])
    expect(seen(session)).toBe(cold(ctx, session))
  })

  it('that reaches over a live call is refused; there is no place above it', async () => {
    const ctx = await startHost()
    const session = sessionOf(ctx, 4)
    const open = call(session, 'open')
    session.append('user/message', said('hurry'))
    const through = session.log.length - 1
    const error = { code: 'INVALID_SEQ', details: { seq: open.seq - 1 } }
    await expect(ctx.compaction.compact(session, { range: { from: 0, through } })).rejects.toMatchObject(
      error,
    )
    const inside = ctx.compaction.compact(session, { range: { from: open.seq, through } })
    await expect(inside).rejects.toMatchObject({ code: 'INVALID_SEQ', details: {} })
  })

  it('that begins inside an earlier summary is refused and names its beginning', async () => {
    const ctx = await startHost()
    const session = sessionOf(ctx, 20)
    await ctx.compaction.compact(session, { range: { from: 4, through: 39 } })
    const through = 60
    const inside = ctx.compaction.compact(session, { range: { from: 20, through } })
    await expect(inside).rejects.toMatchObject({ code: 'INVALID_SEQ', details: { seq: 4 } })
    expect(await ctx.compaction.compact(session, { range: { from: 4, through } })).toMatchObject({
      outcome: 'applied',
    })
    expect(await ctx.compaction.compact(session, { range: { from: 64, through: 71 } })).toMatchObject({
      outcome: 'applied',
    })
    expect(seen(session)).toBe(cold(ctx, session))
  })

  it.each([
    ['backwards', { from: 5, through: 4 }],
    ['below the log', { from: -1, through: 4 }],
    ['beyond the log', { from: 0, through: 40 }],
    ['between events', { from: 0.5, through: 4 }],
    ['no number', { from: 0, through: '4' as unknown as number }],
    ['no range', {} as { from: number; through: number }],
  ])('%s is refused', async (_, range) => {
    const ctx = await startHost()
    const session = sessionOf(ctx, 10)
    expect(session.log.length).toBe(40)
    expect(await codeOf(() => ctx.compaction.compact(session, { range }))).toBe('INVALID_SEQ')
    expect(session.log.length).toBe(40)
  })

  it('that holds no message replaces nothing', async () => {
    const { ctx } = await load()
    const session = sessionOf(ctx, 10)
    expect(await ctx.compaction.compact(session, { range: { from: 3, through: 4 } })).toEqual({
      outcome: 'nothing',
      reason: 'unchanged',
    })
    expect(session.log.length).toBe(40)
  })
})

it('planning looks at what stands in the transcript and at no event of the log', async () => {
  const ctx = await startHost({ retainMessages: 2 })
  const session = sessionOf(ctx, 10)
  await ctx.compaction.compact(session)
  const { types: used, length } = session.log
  const blind = Object.create(session, { log: { value: { types: used, length } } }) as typeof session
  expect(ctx.compaction.plan(blind, { retainMessages: 1 })).toEqual(
    ctx.compaction.plan(session, { retainMessages: 1 }),
  )
})
