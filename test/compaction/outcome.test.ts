import { compactions, type CompactOptions } from '@tidemark/compaction'
import type { Session } from '@tidemark/session-core'
import { describe, expect, it } from 'vitest'
import { call, codeOf, cold, load, say, seen, sessionOf, startHost, statuses, types } from './host.ts'
import { doing, hanging, held, saying } from './summarizers.ts'

function write(session: Session, text: string): void {
  session.append('user/message', { parts: [{ type: 'text', text, author: 'human' }] })
}

/** An answer in a step that is open: a call may still join it. */
function inStep(session: Session, text: string): number {
  session.append('turn/start', {})
  write(session, 'CRITICAL: never push')
  session.append('step/start', {})
  return session.append('assistant/message', { parts: [{ type: 'text', text }] }).seq
}

function lastFate(session: Session): unknown {
  return session.read(compactions).records.at(-1)
}

describe('a message that a call may still join', () => {
  it('is held like one that streams, whether or not there is a budget', async () => {
    for (const config of [{ retainMessages: 0 }, { contextTokensMax: 2_000, retainTokens: 0 }]) {
      const ctx = await startHost(config)
      const session = sessionOf(ctx, 8)
      const { length } = session.log
      const seq = inStep(session, 'x '.repeat(300))
      const plan = ctx.compaction.plan(session)
      expect(plan.kind === 'replace' && plan.range.through).toBeLessThan(seq)
      for (const from of [0, seq]) {
        const range = { from, through: seq }
        expect(await codeOf(() => ctx.compaction.compact(session, { range }))).toBe('INVALID_SEQ')
      }
      session.append('step/end', {})
      const whole = { from: length, through: session.log.length - 1 }
      expect(ctx.compaction.plan(session, { range: whole })).toMatchObject({ range: whole })
    }
  })

  it('is replaced once another message follows it', async () => {
    const ctx = await startHost({ retainMessages: 1 })
    const session = sessionOf(ctx, 8)
    const seq = inStep(session, 'x '.repeat(300))
    write(session, 'and hurry')
    expect(ctx.compaction.plan(session)).toMatchObject({ range: { from: 0, through: seq } })
  })
})

describe('a compaction is applied only where', () => {
  it('what it was to replace is replaced', async () => {
    const ctx = await startHost({ retainMessages: 0 })
    const session = sessionOf(ctx, 10)
    const { schema } = ctx.sessions.vocabulary.event('compact/end')!
    const undo = ctx.sessions.define({
      owner: '@tidemark/compaction',
      events: { 'compact/end': { schema, replaces: () => undefined } },
    })
    const before = seen(session)
    const failed = await ctx.compaction.compact(session)
    expect(failed).toMatchObject({ outcome: 'failed', error: { code: 'RANGE_CHANGED' } })
    expect(lastFate(session)).toMatchObject({ fate: 'failed', code: 'RANGE_CHANGED' })
    expect(seen(session)).toBe(before)
    undo()
    expect(await ctx.compaction.compact(session)).toMatchObject({ outcome: 'applied' })
    expect(seen(session)).toBe(cold(ctx, session))
  })

  it('the summary fits as it was recorded, with what a redaction made of it', async () => {
    const redact = (payload: unknown): never =>
      JSON.parse(JSON.stringify(payload).replaceAll('tok_1', '[redacted: a token of somebody]')) as never
    const { ctx } = await load({ contextTokensMax: 1_000 }, { redact })
    const session = sessionOf(ctx, 9)
    const before = seen(session)
    const summarizer = doing(({ tokensMax }) => ({ text: 'tok_1 '.repeat(Math.floor(tokensMax! / 4)) }))
    const failed = await ctx.compaction.compact(session, { summarizer })
    expect(failed).toMatchObject({ outcome: 'failed', error: { code: 'SUMMARY_NOT_SMALLER' } })
    expect(seen(session)).toBe(before)
    expect(await ctx.compaction.compact(session)).toMatchObject({ outcome: 'applied' })
    expect(ctx.compaction.status(session).tokens).toBeLessThanOrEqual(1_000)
  })

  it('it is smaller than what stands there at the end: results may have been pruned meanwhile', async () => {
    const ctx = await startHost({ retainMessages: 0 })
    const session = ctx.sessions.create()
    session.append('turn/start', {})
    const { seq, data } = call(session, 'a')
    const parts = [{ type: 'text' as const, text: 'y '.repeat(5_000) }]
    session.append('tool/result', { callId: data.callId, callSeq: seq, outcome: 'ok', parts })
    session.append('turn/end', { reason: 'completed' })
    const { summarizer, answer } = held()
    const running = ctx.compaction.compact(session, { summarizer })
    await ctx.compaction.prune(session, { resultSizeBytesMax: 512, keepLast: 0 })
    answer('s '.repeat(2_000))
    expect(await running).toMatchObject({ outcome: 'failed', error: { code: 'SUMMARY_NOT_SMALLER' } })
    expect(statuses(session)).not.toContain('live')
  })
})

describe('a signal', () => {
  it.each([[{ aborted: false }], [{}], ['no'], [null], [{ addEventListener: () => undefined }]])(
    'that is none is refused before anything is recorded: %j',
    async (signal) => {
      const ctx = await startHost()
      const session = sessionOf(ctx, 10)
      const { length } = session.log
      const options = { signal } as unknown as CompactOptions
      expect(await codeOf(() => ctx.compaction.compact(session, options))).toBe('INVALID_EVENT')
      expect(session.log.length).toBe(length)
      expect(await ctx.compaction.compact(session)).toMatchObject({ outcome: 'applied' })
    },
  )

  it('that throws when it is listened to ends the compaction as failed', async () => {
    const ctx = await startHost()
    const session = sessionOf(ctx, 10)
    const signal = Object.assign(new AbortController().signal, {
      addEventListener: () => {
        throw new RangeError('no')
      },
    })
    const failed = await ctx.compaction.compact(session, { signal })
    expect(failed).toMatchObject({ outcome: 'failed', error: { code: 'START_FAILED' } })
    await ctx.compaction.idle(session)
    expect(await ctx.compaction.compact(session)).toMatchObject({ outcome: 'applied' })
  })
})

describe('what a listener appends when it hears the summary', () => {
  it('stands between summary and end, and a labelled line in it is a fact that is present', async () => {
    const ctx = await startHost()
    const session = sessionOf(ctx, 10)
    const { length } = session.log
    const told: unknown[] = []
    ctx.on('tidemark/facts-missing', (_session, missing) => void told.push(missing))
    ctx.on('tidemark/event', (_session, { type }) => {
      if (type === 'compact/summary' || type === 'compact/end') write(session, `FACT[${type}]: new`)
      if (type === 'compact/summary') ctx.compaction.pin(session, { key: 'pinned', text: 'in between' })
    })
    const result = await ctx.compaction.compact(session)
    expect(types(session, length)).toEqual([
      'compact/start',
      'compact/summary',
      'user/message',
      'fact/pinned',
      'compact/end',
      'user/message',
    ])
    const present = ['compact/summary', 'pinned', 'compact/end']
    expect(result).toMatchObject({ outcome: 'applied', facts: { present, missing: [] } })
    expect(session.log.at(length + 4)?.data).toMatchObject({ facts: { presentCount: 2, missingCount: 0 } })
    await new Promise(setImmediate)
    expect(told).toEqual([])
    expect(seen(session)).toBe(cold(ctx, session))
  })

  it('is in the block of the next compaction', async () => {
    const ctx = await startHost({ retainMessages: 0 })
    const session = sessionOf(ctx, 10)
    const off = ctx.on('tidemark/event', (_session, { type }) => {
      if (type === 'compact/summary') write(session, 'FACT[late]: new')
    })
    await ctx.compaction.compact(session)
    off()
    for (let turn = 0; turn < 4; turn++) say(session, 'more')
    const result = await ctx.compaction.compact(session, { summarizer: saying('short') })
    expect(result).toMatchObject({ outcome: 'applied', facts: { present: ['late'], missing: [] } })
  })
})

describe('a session that was disposed during a compaction', () => {
  it('is over, and not busy', async () => {
    const ctx = await startHost()
    const session = sessionOf(ctx, 10)
    const running = codeOf(() => ctx.compaction.compact(session, { summarizer: hanging }))
    await ctx.sessions.dispose(session)
    expect(await running).toBe('DISPOSED')
    for (const options of [{}, { range: { from: 0, through: 3 } }]) {
      expect(await codeOf(() => ctx.compaction.compact(session, options))).toBe('DISPOSED')
    }
  })
})
