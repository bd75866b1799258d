import { Config, type CompactionEnded, type OverBudget } from '@tidemark/compaction'
import type { Session } from '@tidemark/session-core'
import type { Context } from 'cordis'
import { describe, expect, it } from 'vitest'
import { call, answer, crash, load, loadCompaction, say, statuses, summaries, types } from './host.ts'
import { doing, hanging, held, saying } from './summarizers.ts'

const budget = { contextTokensMax: 2_000, automatic: true } as const

/** What the bus was told, in order. */
function heard(ctx: Context): { ended: CompactionEnded[]; over: OverBudget[] } {
  const told = { ended: [] as CompactionEnded[], over: [] as OverBudget[] }
  ctx.on('tidemark/compaction', (_session, ended) => void told.ended.push(ended))
  ctx.on('tidemark/over-budget', (_session, status) => void told.over.push(status))
  return told
}

/** Whatever was begun has been looked at. */
async function settled(ctx: Context, session: Session): Promise<void> {
  for (let round = 0; round < 4; round++) {
    await new Promise(setImmediate)
    await ctx.get('compaction')?.idle(session)
  }
}

/** Turns until the transcript is over the trigger, without a look in between. */
function fill(session: Session, turns = 25): void {
  for (let turn = 0; turn < turns; turn++) say(session, `request ${turn}`)
}

const starts = (session: Session): number => types(session).filter((type) => type === 'compact/start').length

describe('automatic mode', () => {
  it('is off by default, and needs a budget', async () => {
    expect(Config.parse({}).automatic).toBe(false)
    expect(Config.safeParse({ automatic: true }).success).toBe(false)
    expect(Config.safeParse({ automatic: true, contextTokensMax: 1_000 }).success).toBe(true)
    const { ctx } = await load({ contextTokensMax: 2_000 })
    const session = ctx.sessions.create()
    fill(session)
    await settled(ctx, session)
    expect(starts(session)).toBe(0)
  })

  it('compacts at the end of a turn or a step, once it is over, and tells the bus', async () => {
    const { ctx } = await load(budget)
    const told = heard(ctx)
    const session = ctx.sessions.create()
    fill(session)
    const { length } = session.log
    expect(starts(session)).toBe(0)
    await settled(ctx, session)
    expect(types(session, length)).toEqual(['compact/start', 'compact/summary', 'compact/end'])
    expect(session.log.at(length)).toMatchObject({
      data: { trigger: 'automatic', tokens: expect.any(Number) },
    })
    expect(told.ended).toMatchObject([{ outcome: 'applied', trigger: 'automatic', seq: length + 2 }])
    expect(told.over).toEqual([])
    expect(ctx.compaction.status(session)).toMatchObject({ isOver: false, attempts: 0, isExhausted: false })
    session.append('turn/start', {})
    session.append('step/start', {})
    for (let round = 0; round < 30; round++) {
      session.append('assistant/message', { parts: [{ type: 'text', text: `step ${round}` }] })
      const one = call(session, `c${round}`)
      answer(session, one, 'something was found here. '.repeat(12))
    }
    session.append('step/end', {})
    await settled(ctx, session)
    expect(told.ended).toMatchObject([{ outcome: 'applied' }, { outcome: 'applied' }])
  })

  it('appends nothing while a listener is being told of the event', async () => {
    const { ctx } = await load(budget)
    const session = ctx.sessions.create()
    const lengths: number[][] = []
    ctx.on('tidemark/event', (from, { seq }) => void lengths.push([seq, from.log.length - 1]))
    fill(session)
    expect(lengths.every(([seq, last]) => seq === last)).toBe(true)
    await settled(ctx, session)
    expect(starts(session)).toBe(1)
  })

  it('notices a session that is over its budget when it begins, and one that was there before', async () => {
    const plain = await load({ contextTokensMax: 2_000 })
    const session = plain.ctx.sessions.create()
    fill(session)
    await plain.plugin.dispose()
    await loadCompaction(plain.ctx, budget)
    await settled(plain.ctx, session)
    expect(starts(session)).toBe(1)
    const { ctx } = await load(budget)
    const resumed = ctx.sessions.create({ seed: [...session.log].slice(0, 100) })
    await settled(ctx, resumed)
    expect(starts(resumed)).toBe(1)
    expect(summaries(resumed).length).toBe(1)
  })

  it('D02: a summary that is no smaller is tried with growing distance, and then no more, over restarts', async () => {
    const { ctx } = await load({ ...budget, summarizer: saying('no smaller. '.repeat(3_000)) })
    const told = heard(ctx)
    let session = ctx.sessions.create()
    fill(session)
    await settled(ctx, session)
    expect(starts(session)).toBe(1)
    for (let round = 0; round < 20; round++) {
      session.append('turn/start', {})
      session.append('turn/end', { reason: 'completed' })
      await settled(ctx, session)
      if (round % 3 === 0) session = crash(ctx, session)
      await settled(ctx, session)
    }
    expect(starts(session)).toBe(1)
    fill(session, 1)
    await settled(ctx, session)
    fill(session, 1)
    await settled(ctx, session)
    expect(starts(session)).toBe(2)
    fill(session, 3)
    await settled(ctx, session)
    expect(starts(session)).toBe(3)
    expect(ctx.compaction.status(session)).toMatchObject({ isOver: true, attempts: 3, isExhausted: true })
    expect(told.over).toMatchObject([{ reason: 'attempts-exhausted', attempts: 3, contextTokensMax: 2_000 }])
    for (let round = 0; round < 6; round++) {
      fill(session, 1)
      await settled(ctx, session)
      session = crash(ctx, session)
      await settled(ctx, session)
    }
    expect(starts(session)).toBe(3)
    expect(session.log.last?.type).not.toBe('compact/start')
    fill(session, 8)
    await settled(ctx, session)
    expect(starts(session)).toBe(4)
  })

  it('D02: a summary as large as what it sums up is recorded as no smaller', async () => {
    const tokenizer = { name: 'by four', count: (text: string) => Math.ceil(text.length / 4) }
    const summarizer = doing(({ messages }) => ({ text: JSON.stringify(messages) }))
    const { ctx } = await load({ ...budget, tokenizer, summarizer })
    const told = heard(ctx)
    const session = ctx.sessions.create()
    fill(session)
    await settled(ctx, session)
    expect(told.ended).toMatchObject([{ outcome: 'failed', error: { code: 'SUMMARY_NOT_SMALLER' } }])
    expect(session.log.last?.data).toMatchObject({ error: { code: 'SUMMARY_NOT_SMALLER' } })
    for (let round = 0; round < 5; round++) await settled(ctx, session)
    expect(starts(session)).toBe(1)
  })

  it('D02: a summarizer that ends the process each time is asked so often and no more', async () => {
    let asked = 0
    const { ctx } = await load({
      ...budget,
      attemptsMax: 2,
      summarizer: doing(() => (asked++, new Promise(() => 0))),
    })
    let session = ctx.sessions.create()
    fill(session)
    await new Promise(setImmediate)
    for (let life = 0; life < 12; life++) {
      session = crash(ctx, session)
      await new Promise(setImmediate)
      await new Promise(setImmediate)
    }
    expect(asked).toBe(1)
    fill(session, 2)
    for (let life = 0; life < 12; life++) {
      await new Promise(setImmediate)
      session = crash(ctx, session)
      await new Promise(setImmediate)
    }
    expect([asked, starts(session)]).toEqual([2, 2])
    expect(ctx.compaction.status(session)).toMatchObject({ attempts: 2, isExhausted: true })
  })

  it('D02: a manual compaction that is applied ends the count', async () => {
    const { ctx } = await load({ ...budget, attemptsMax: 1, summarizer: saying('') })
    const session = ctx.sessions.create()
    fill(session)
    await settled(ctx, session)
    expect(ctx.compaction.status(session)).toMatchObject({ attempts: 1, isExhausted: true })
    await ctx.compaction.compact(session, { summarizer: saying('short') })
    expect(ctx.compaction.status(session)).toMatchObject({ attempts: 0, isExhausted: false, isOver: false })
    fill(session)
    await settled(ctx, session)
    expect(starts(session)).toBe(3)
  })

  it('D02: one that is applied and leaves too much is not tried again at once', async () => {
    const { ctx } = await load({ ...budget, triggerRatio: 0.2, retainTokens: 300 })
    const told = heard(ctx)
    const session = ctx.sessions.create()
    for (let turn = 0; turn < 10; turn++) say(session, `request ${turn}`)
    say(session, 'the last one', 'word '.repeat(700))
    await settled(ctx, session)
    const begun = starts(session)
    expect(begun).toBe(1)
    for (let round = 0; round < 10; round++) {
      session.append('turn/start', {})
      session.append('turn/end', { reason: 'completed' })
      await settled(ctx, session)
    }
    expect(starts(session)).toBe(begun)
    expect(told.over).toMatchObject([{ reason: 'not-enough', isOver: true }])
  })

  it('tells once that a session is over its budget and why nothing is done, and again when that changes', async () => {
    const { ctx } = await load(budget)
    const told = heard(ctx)
    const session = ctx.sessions.create()
    const nudge = async (): Promise<void> => {
      session.append('turn/start', {})
      session.append('turn/end', { reason: 'completed' })
      await settled(ctx, session)
    }
    say(session, 'one', 'word '.repeat(4_000))
    for (let round = 0; round < 3; round++) await nudge()
    expect(told.over).toMatchObject([{ isOver: true, reason: 'too-large-to-retain' }])
    session.append('user/message', {
      parts: [{ type: 'text', author: 'human', text: `FACT: ${'fact '.repeat(2_500)}` }],
    })
    for (let round = 0; round < 3; round++) await nudge()
    expect(told.over.map(({ reason }) => reason)).toEqual(['too-large-to-retain', 'facts-too-large'])
    expect(starts(session)).toBe(0)
  })

  it('a listener that throws or rejects harms nobody', async () => {
    const { ctx } = await load(budget)
    ctx.on('tidemark/compaction', () => {
      throw new TypeError('no')
    })
    const rejecting: () => unknown = () => Promise.reject(new TypeError('no'))
    ctx.on('tidemark/compaction', rejecting)
    const told = heard(ctx)
    const session = ctx.sessions.create()
    fill(session)
    await settled(ctx, session)
    expect(told.ended.length).toBe(1)
    fill(session)
    await settled(ctx, session)
    expect(told.ended.length).toBe(2)
  })

  it('unloaded, it cancels what runs, and begins nothing more', async () => {
    const { ctx, plugin } = await load({ ...budget, summarizer: hanging })
    const told = heard(ctx)
    const session = ctx.sessions.create()
    fill(session)
    await new Promise(setImmediate)
    expect(statuses(session)).toEqual(['live'])
    const other = ctx.sessions.create()
    fill(other)
    await plugin.dispose()
    await settled(ctx, session)
    expect(session.log.last).toMatchObject({ type: 'compact/end', data: { error: { code: 'UNLOADED' } } })
    expect(told.ended).toMatchObject([{ outcome: 'cancelled', trigger: 'automatic' }])
    fill(session)
    await settled(ctx, session)
    expect([starts(session), starts(other)]).toEqual([1, 0])
    const hooks = (ctx.events as unknown as { _hooks: Record<string, unknown[]> })._hooks
    expect(hooks['tidemark/event'] ?? []).toEqual([])
    expect(hooks['tidemark/created'] ?? []).toEqual([])
    expect(hooks['tidemark/durable'] ?? []).toEqual([])
  })

  it('of several instances one acts', async () => {
    const { ctx } = await load({ ...budget, summarizer: saying('') })
    const second = await ctx.isolate('compaction').plugin(
      { ...(await import('@tidemark/compaction')) },
      {
        ...budget,
        summarizer: saying(''),
      },
    )
    const told = heard(ctx)
    const session = ctx.sessions.create()
    fill(session)
    await settled(ctx, session)
    expect(starts(session)).toBe(1)
    expect(told.ended.length).toBe(1)
    const huge = ctx.sessions.create()
    say(huge, 'one', 'word '.repeat(4_000))
    await settled(ctx, huge)
    expect(told.over).toMatchObject([{ reason: 'too-large-to-retain' }])
    await second.dispose()
    fill(session, 2)
    await settled(ctx, session)
    expect(starts(session)).toBe(2)
  })

  it('ignores the sessions of other hosts on the same bus', async () => {
    const { ctx } = await load(budget)
    const { ctx: other } = await load({ contextTokensMax: 2_000 })
    const foreign = other.sessions.create()
    fill(foreign)
    ctx.emit('tidemark/created', foreign)
    ctx.emit('tidemark/event', foreign, foreign.log.last!)
    await settled(ctx, foreign)
    expect(starts(foreign)).toBe(0)
  })
})

describe('idle', () => {
  it('D14: who waits for the end of a compaction is never left waiting, however it ends', async () => {
    const { ctx, plugin } = await load({ summaryTimeoutMs: 5 })
    const session = ctx.sessions.create()
    for (let turn = 0; turn < 10; turn++) say(session, `request ${turn}`)
    await ctx.compaction.idle(session)
    for (const summarizer of [
      saying(''),
      saying(undefined),
      doing(() => Promise.reject(new TypeError())),
      hanging,
    ]) {
      void ctx.compaction.compact(session, { summarizer })
      await ctx.compaction.idle(session)
      expect(statuses(session)).toEqual([])
    }
    const { summarizer, answer: sum } = held()
    void ctx.compaction.compact(session, { summarizer })
    const first = ctx.compaction.idle(session)
    sum('short')
    await first
    expect(summaries(session)).toEqual(['short'])
    say(session, 'more')
    const service = ctx.compaction
    void service.compact(session, { summarizer: hanging })
    const second = service.idle(session)
    await plugin.dispose()
    await second
    say(session, 'and on')
  })

  it('D14: nor when the session ends meanwhile', async () => {
    const { ctx } = await load()
    const session = ctx.sessions.create()
    for (let turn = 0; turn < 10; turn++) say(session, `request ${turn}`)
    const told = heard(ctx)
    void ctx.compaction.compact(session, { summarizer: hanging })
    const idle = ctx.compaction.idle(session)
    await ctx.sessions.dispose(session)
    await idle
    await new Promise(setImmediate)
    expect(told.ended).toMatchObject([{ outcome: 'unrecorded', cause: { code: 'DISPOSED' } }])
  })
})
