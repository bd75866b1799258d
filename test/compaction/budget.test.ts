import { Config, messagesTokens, type CompactionPlan, type Tokenizer } from '@tidemark/compaction'
import type { Session, SessionView } from '@tidemark/session-core'
import type { Context } from 'cordis'
import { describe, expect, it } from 'vitest'
import { answer, call, cold, seen, sessionOf, startHost, statuses, stored, systemTexts } from './host.ts'
import { doing, held, saying } from './summarizers.ts'

const tokenizer: Tokenizer = { name: 'characters', count: (text) => text.length }
const frame = 4 + 2

function startCounting(contextTokensMax: number, config: Partial<Config> = {}): Promise<Context> {
  return startHost({ contextTokensMax, tokenizer, ...config })
}

const tokens = (session: SessionView): number => messagesTokens(session.messages(), tokenizer)

/** A message of so many tokens, its frame included. */
function say(session: Session, count: number, author: 'human' | 'agent' = 'human'): number {
  const parts = [{ type: 'text' as const, text: 'x'.repeat(count - frame), author }]
  return session.append('user/message', { parts }).seq
}

function reply(session: Session, count: number): number {
  return session.append('assistant/message', { parts: [{ type: 'text', text: 'y'.repeat(count - frame) }] })
    .seq
}

function replaced(plan: CompactionPlan): Extract<CompactionPlan, { kind: 'replace' }> {
  if (plan.kind === 'nothing') throw new TypeError(`nothing to replace: ${plan.reason}`)
  return plan
}

/** The same log in a host of another size. */
async function planIn(session: SessionView, contextTokensMax: number, config: Partial<Config> = {}) {
  const ctx = await startCounting(contextTokensMax, config)
  return ctx.compaction.plan(ctx.sessions.create({ seed: stored(session) }))
}

const fitsAll = doing(({ tokensMax = 0 }) => ({ text: 's'.repeat(tokensMax) }))
const oneTooLong = doing(({ tokensMax = 0 }) => ({ text: 's'.repeat(tokensMax + 1) }))

describe('a budget in tokens', () => {
  it('is none by default: nothing is counted, and ranges are as they were', async () => {
    const never: Tokenizer = { name: 'never', count: () => NaN }
    const ctx = await startHost({ tokenizer: never })
    const session = sessionOf(ctx, 10)
    const plan = replaced(ctx.compaction.plan(session))
    expect(plan.tokens).toBeUndefined()
    const requests: (number | undefined)[] = []
    const summarizer = doing(({ tokensMax }) => (requests.push(tokensMax), { text: 'short' }))
    expect(await ctx.compaction.maybeCompact(session)).toEqual({ outcome: 'nothing', reason: 'no-budget' })
    expect(await ctx.compaction.compact(session, { summarizer })).toMatchObject({ outcome: 'applied' })
    expect(requests).toEqual([undefined])
    expect(session.messages().length).toBe(1 + 8)
  })

  it('has bounds, and what is kept of the end needs one', () => {
    const contextTokensMax = 256
    expect(Config.parse({})).toMatchObject({ triggerRatio: 0.8, tokenizer: { name: 'o200k' } })
    for (const config of [{ contextTokensMax }, { contextTokensMax, retainTokens: 0, triggerRatio: 1 }])
      expect(Config.safeParse(config).success).toBe(true)
    const bad = [
      { contextTokensMax: 255 },
      { contextTokensMax, triggerRatio: 0 },
      { contextTokensMax, triggerRatio: 1.01 },
      { contextTokensMax, retainTokens: -1 },
      { retainTokens: 100 },
      { tokenizer: {} },
    ]
    for (const config of bad) expect(Config.safeParse(config).success).toBe(false)
  })

  it('retains a quarter of the context, or what the host says, and not one token more', async () => {
    const ctx = await startCounting(2_000)
    const session = ctx.sessions.create()
    for (let message = 0; message < 15; message++) say(session, 100)
    expect(replaced(ctx.compaction.plan(session)).tokens).toMatchObject({ now: 1_500, retained: 500 })
    for (const [retainTokens, retained] of [
      [299, 200],
      [300, 300],
      [301, 300],
    ]) {
      const plan = replaced(await planIn(session, 2_000, { retainTokens: retainTokens! }))
      expect(plan).toMatchObject({ range: { from: 0, through: 14 - retained! / 100 }, tokens: { retained } })
    }
  })

  it('keeps the last piece whatever it is told to retain, but for nothing at all', async () => {
    const ctx = await startCounting(2_000)
    const session = ctx.sessions.create()
    for (let message = 0; message < 10; message++) reply(session, 100)
    expect(await planIn(session, 2_000, { retainTokens: 1 })).toMatchObject({ tokens: { retained: 100 } })
    expect(await planIn(session, 2_000, { retainTokens: 0 })).toMatchObject({ tokens: { retained: 0 } })
  })

  it('keeps the last message of a person with what follows it, while the result calls for no compaction', async () => {
    const ctx = await startCounting(2_000)
    const session = ctx.sessions.create()
    for (let message = 0; message < 7; message++) reply(session, 100)
    const asked = say(session, 100)
    for (let message = 0; message < 8; message++) reply(session, 100)
    const plan = replaced(ctx.compaction.plan(session))
    expect(plan).toMatchObject({ range: { through: asked - 1 }, tokens: { retained: 900 } })
    const { facts, afterMax, retained, summaryMax } = plan.tokens!
    expect(facts).toBe(0)
    const summaryFrame = afterMax - retained - Math.min(summaryMax, plan.tokens!.gainMax)
    // An eighth of the context is kept free for the summary.
    const atLimit = Math.ceil(((900 + summaryFrame) * 8) / 7)
    const whole = { triggerRatio: 1, retainTokens: 300 }
    expect(await planIn(session, atLimit, whole)).toMatchObject({ range: { through: asked - 1 } })
    expect(await planIn(session, atLimit - 2, whole)).toMatchObject({ tokens: { retained: 300 } })
  })

  it('lets that message go when a compaction is called for and nothing before it is worth one', async () => {
    const ctx = await startCounting(2_000, { retainTokens: 300 })
    const session = ctx.sessions.create()
    say(session, 100)
    for (let message = 0; message < 10; message++) reply(session, 100)
    expect(ctx.compaction.plan(session)).toEqual({ kind: 'nothing', reason: 'too-short' })
    for (let message = 0; message < 6; message++) reply(session, 100)
    const first = await ctx.compaction.maybeCompact(session, { summarizer: saying('short') })
    expect(first).toMatchObject({ outcome: 'applied' })
    expect(session.messages().length).toBe(1 + 3)
    expect(await ctx.compaction.compact(session)).toEqual({ outcome: 'nothing', reason: 'unchanged' })
  })

  it('never splits a call from its result for it', async () => {
    const ctx = await startCounting(4_000, { retainTokens: 700 })
    const session = ctx.sessions.create()
    for (let message = 0; message < 10; message++) reply(session, 100)
    const asked = reply(session, 100)
    const one = call(session, 'a')
    session.append('user/message', { parts: [{ type: 'text', text: 'and hurry', author: 'agent' }] })
    answer(session, one, 'z'.repeat(500))
    reply(session, 100)
    expect(ctx.compaction.plan(session)).toMatchObject({ range: { through: session.log.length - 2 } })
    const wide = await planIn(session, 4_000, { retainTokens: 850 })
    expect(wide).toMatchObject({ range: { through: asked - 1 } })
  })
})

describe('the whole result', () => {
  it('fits at the limit, where the summary takes all that is left, and one more token is a failure', async () => {
    const ctx = await startCounting(1_000, { triggerRatio: 1 })
    const session = ctx.sessions.create()
    for (let message = 0; message < 20; message++) reply(session, 100)
    ctx.compaction.pin(session, { key: 'a', text: 'never on a Friday' })
    const last = reply(session, 300)
    const range = { from: 0, through: last - 1 }
    const { tokens: planned } = replaced(ctx.compaction.plan(session, { range }))
    expect(planned).toMatchObject({ now: tokens(session), retained: 300, afterMax: 1_000 })
    const fails = await ctx.compaction.compact(session, { range, summarizer: oneTooLong })
    expect(fails).toMatchObject({ outcome: 'failed', error: { code: 'SUMMARY_TOO_LARGE' } })
    expect(await ctx.compaction.compact(session, { range, summarizer: fitsAll })).toMatchObject({
      outcome: 'applied',
    })
    expect(tokens(session)).toBe(1_000)
    expect(messagesTokens(session.messages().slice(0, 1), tokenizer)).toBe(planned!.facts)
    expect(seen(session)).toBe(cold(ctx, session))
  })

  it('is smaller in tokens: a summary of as many as it replaces is a failure', async () => {
    const ctx = await startCounting(10_000)
    const session = ctx.sessions.create()
    for (let message = 0; message < 4; message++) reply(session, 100)
    for (let message = 0; message < 3; message++) reply(session, 900)
    const before = tokens(session)
    const summarizer = doing(({ tokensMax = 0 }) => ({ text: 's'.repeat(tokensMax + 1) }))
    const range = { from: 0, through: 3 }
    expect(await ctx.compaction.compact(session, { range, summarizer })).toMatchObject({
      outcome: 'failed',
      error: { code: 'SUMMARY_NOT_SMALLER' },
    })
    await ctx.compaction.compact(session, { range, summarizer: fitsAll })
    expect(tokens(session)).toBe(before - 1)
  })

  it('that facts alone exceed is refused by name, at one token below what they need', async () => {
    const ctx = await startCounting(4_000)
    const session = ctx.sessions.create()
    session.append('user/message', {
      parts: [{ type: 'text', text: `FACT[a]: ${'f'.repeat(200)}`, author: 'human' }],
    })
    ctx.compaction.pin(session, { key: 'b', text: 'g'.repeat(200) })
    for (let message = 0; message < 10; message++) reply(session, 100)
    session.append('turn/start', {}) // no call can join the last one any more
    session.append('turn/end', { reason: 'completed' })
    const range = { from: 0, through: session.log.length - 1 }
    const plan = replaced(ctx.compaction.plan(session, { range }))
    const { facts, retained, afterMax, summaryMax, gainMax } = plan.tokens!
    const needed = facts + 64 + afterMax - facts - retained - Math.min(summaryMax, gainMax)
    expect(facts).toBeGreaterThan(400)
    const atLimit = await startCounting(needed)
    const fitting = atLimit.sessions.create({ seed: stored(session) })
    expect(atLimit.compaction.plan(fitting, { range }).kind).toBe('replace')
    const result = await atLimit.compaction.compact(fitting, { range, summarizer: fitsAll })
    expect(result).toMatchObject({ outcome: 'applied' })
    expect(tokens(fitting)).toBe(needed)
    const below = await startCounting(needed - 1)
    const tight = below.sessions.create({ seed: stored(session) })
    const length = tight.log.length
    const refused = { code: 'PINS_TOO_LARGE', details: { keys: ['a', 'b'] } }
    await expect(below.compaction.compact(tight, { range })).rejects.toMatchObject(refused)
    await expect(below.compaction.maybeCompact(tight)).rejects.toMatchObject(refused)
    expect(tight.log.length).toBe(length)
  })

  it('that facts exceed which were pinned meanwhile ends as failed, and the session goes on', async () => {
    const ctx = await startCounting(2_000)
    const session = ctx.sessions.create()
    for (let message = 0; message < 20; message++) reply(session, 100)
    const { summarizer, answer: sum, requests } = held()
    const running = ctx.compaction.compact(session, { summarizer })
    ctx.compaction.pin(session, { key: 'a', text: 'f'.repeat(1_500) })
    sum('s'.repeat(requests[0]!.tokensMax!))
    expect(await running).toMatchObject({ outcome: 'failed', error: { code: 'PINS_TOO_LARGE' } })
    expect(statuses(session)).toEqual([])
    ctx.compaction.unpin(session, 'a')
    expect(await ctx.compaction.compact(session)).toMatchObject({ outcome: 'applied' })
  })

  it('that what must stay exceeds is nothing to begin, at one token past the limit', async () => {
    const ctx = await startCounting(1_000)
    const session = ctx.sessions.create()
    for (let message = 0; message < 5; message++) reply(session, 100)
    say(session, 700)
    const { tokens: planned } = replaced(ctx.compaction.plan(session))
    const { retained, afterMax, summaryMax, gainMax } = planned!
    const limit = 64 + afterMax - Math.min(summaryMax, gainMax)
    expect(retained).toBe(700)
    expect(await planIn(session, limit)).toMatchObject({ kind: 'replace', tokens: { afterMax: limit } })
    expect(await planIn(session, limit - 1)).toEqual({ kind: 'nothing', reason: 'too-large-to-retain' })
    for (const options of [{ range: { from: 0, through: 4 } }, { retainMessages: 1 }]) {
      const small = await startCounting(limit - 1)
      const seeded = small.sessions.create({ seed: stored(session) })
      const reason = 'too-large-to-retain'
      expect(await small.compaction.compact(seeded, options)).toEqual({ outcome: 'nothing', reason })
    }
  })

  it('is kept around a live call: what comes after it is replaced, and what comes before', async () => {
    const ctx = await startCounting(1_000)
    const session = ctx.sessions.create()
    session.append('turn/start', {})
    const open = call(session, 'open')
    for (let message = 0; message < 10; message++) reply(session, 100)
    const { range, tokens: planned } = replaced(ctx.compaction.plan(session))
    expect([range.from, planned!.retained > 100, planned!.afterMax <= 1_000]).toEqual([2, true, true])
    expect(replaced(ctx.compaction.plan(session, { retainMessages: 2 })).range).toEqual({
      from: 2,
      through: 9,
    })
    for (let round = 0; round < 3; round++) {
      expect(await ctx.compaction.maybeCompact(session)).toMatchObject({ outcome: 'applied' })
      expect(tokens(session)).toBeLessThanOrEqual(800)
      for (let message = 0; message < 10; message++) reply(session, 100)
    }
    answer(session, open)
    reply(session, 100)
    const last = session.log.length - 1
    expect(replaced(ctx.compaction.plan(session)).range).toEqual({ from: 0, through: last - 1 })
  })

  it('that a message which streams holds open is nothing to begin, until it has ended', async () => {
    const ctx = await startCounting(1_000)
    const session = ctx.sessions.create()
    session.append('turn/start', {})
    session.append('assistant/message', { parts: [{ type: 'text', text: 'x'.repeat(1_200) }] })
    const held = { kind: 'nothing', reason: 'held-open' }
    expect(ctx.compaction.plan(session, { retainMessages: 0 })).toEqual(held)
    session.append('step/start', {})
    expect(ctx.compaction.plan(session, { retainMessages: 0 }).kind).toBe('replace')
  })

  it('is made by the default summarizer at the smallest budget as well', async () => {
    const ctx = await startCounting(256)
    const session = ctx.sessions.create()
    for (let message = 0; message < 10; message++) reply(session, 50)
    expect(await ctx.compaction.maybeCompact(session)).toMatchObject({ outcome: 'applied' })
    expect(tokens(session)).toBeLessThanOrEqual(256)
  })

  it('is counted by o200k unless the host says how', async () => {
    const ctx = await startHost({ contextTokensMax: 2_000 })
    const session = sessionOf(ctx, 30)
    const before = messagesTokens(session.messages(), Config.parse({}).tokenizer)
    expect(replaced(ctx.compaction.plan(session)).tokens?.now).toBe(before)
    expect(await ctx.compaction.maybeCompact(session)).toMatchObject({ outcome: 'applied' })
    expect(messagesTokens(session.messages(), Config.parse({}).tokenizer)).toBeLessThan(1_600)
  })
})

describe('maybeCompact', () => {
  it('compacts at one token more than the share of the context, and says so otherwise', async () => {
    const ctx = await startCounting(1_000, { triggerRatio: 0.75 })
    const session = ctx.sessions.create()
    for (let message = 0; message < 15; message++) reply(session, 50)
    expect(tokens(session)).toBe(750)
    const length = session.log.length
    const within = { outcome: 'nothing', reason: 'within-budget' }
    expect(await ctx.compaction.maybeCompact(session)).toEqual(within)
    expect(session.log.length).toBe(length)
    const other = ctx.sessions.create()
    for (let message = 0; message < 14; message++) reply(other, 50)
    reply(other, 51)
    expect(await ctx.compaction.maybeCompact(other)).toMatchObject({ outcome: 'applied' })
    expect(await ctx.compaction.maybeCompact(other)).toEqual(within)
  })

  it('D12: makes a summary shorter that alone keeps the transcript too long, and stops when that is done', async () => {
    const long = await startCounting(4_000, { retainTokens: 400 })
    const session = long.sessions.create()
    for (let message = 0; message < 40; message++) reply(session, 100)
    await long.compaction.compact(session, { summarizer: fitsAll })
    expect(tokens(session)).toBe(3_200)
    const ctx = await startCounting(2_000)
    const resumed = ctx.sessions.create({ seed: stored(session) })
    expect(replaced(ctx.compaction.plan(resumed)).messages.length).toBe(1)
    expect(await ctx.compaction.maybeCompact(resumed, { summarizer: fitsAll })).toMatchObject({
      outcome: 'applied',
    })
    expect(tokens(resumed)).toBe(1_600)
    expect(await ctx.compaction.maybeCompact(resumed)).toEqual({
      outcome: 'nothing',
      reason: 'within-budget',
    })
    expect(await ctx.compaction.compact(resumed)).toEqual({ outcome: 'nothing', reason: 'unchanged' })
  })

  it('records who asked', async () => {
    const ctx = await startCounting(1_000)
    const session = ctx.sessions.create()
    for (let message = 0; message < 20; message++) reply(session, 50)
    await ctx.compaction.maybeCompact(session, { trigger: 'automatic', summarizer: saying('short') })
    reply(session, 600)
    await ctx.compaction.maybeCompact(session, { summarizer: saying('short') })
    const triggers = stored(session).flatMap(({ type, data }) => (type === 'compact/start' ? [data] : []))
    expect(triggers).toMatchObject([{ trigger: 'automatic' }, { trigger: 'manual' }])
  })

  it('keeps labelled lines and pins in the block, round after round', async () => {
    const ctx = await startCounting(2_000)
    const session = ctx.sessions.create()
    const line = 'CRITICAL: never push on a Friday'
    session.append('user/message', { parts: [{ type: 'text', text: line, author: 'human' }] })
    for (let round = 0; round < 12; round++) {
      while (tokens(session) <= 1_600) reply(session, 150)
      expect(await ctx.compaction.maybeCompact(session, { summarizer: fitsAll })).toMatchObject({
        outcome: 'applied',
      })
      expect(systemTexts(session).slice(1)).toEqual([line])
      expect(tokens(session)).toBeLessThanOrEqual(1_600)
    }
  })
})
