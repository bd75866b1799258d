import { aiSdkSummarizer } from '@tidemark/summarizer-ai-sdk'
import type { MockLanguageModelV3 } from 'ai/test'
import { describe, expect, it } from 'vitest'
import {
  cold,
  say,
  seen,
  sessionOf,
  startHost,
  statuses,
  summaries,
  systemTexts,
} from '../compaction/host.ts'
import { finish, modelOf, promptsOf, text } from './models.ts'
import { hangs, refused, serve, streamed } from './server.ts'

const rule = 'never push to main'

describe('a compaction by a model', () => {
  it('is applied, and is the same read cold', async () => {
    const ctx = await startHost()
    const session = sessionOf(ctx, 12)
    ctx.compaction.pin(session, { key: 'rule', text: rule })
    const model = modelOf([...text('The tide', ' table is done.'), finish()])
    const result = await ctx.compaction.compact(session, { summarizer: aiSdkSummarizer({ model }) })
    expect(result).toMatchObject({ outcome: 'applied' })
    expect(summaries(session)).toEqual(['The tide table is done.'])
    expect(systemTexts(session)).toContain(rule)
    expect(promptsOf(model)[0]?.user).toContain('request 0')
    expect(seen(session)).toBe(cold(ctx, session))
  })

  it('goes on from an earlier summary', async () => {
    const ctx = await startHost({ retainMessages: 0 })
    const session = sessionOf(ctx, 8)
    const model = modelOf([...text('first summary'), finish()], [...text('second summary'), finish()])
    const summarizer = aiSdkSummarizer({ model })
    await ctx.compaction.compact(session, { summarizer })
    for (let turn = 0; turn < 8; turn++) say(session, `later ${turn}`)
    await ctx.compaction.compact(session, { summarizer })
    expect(promptsOf(model)[1]?.user).toContain('first summary')
    expect(summaries(session)).toEqual(['second summary'])
  })

  it.each<[what: string, model: MockLanguageModelV3, cause: object]>([
    [
      'is truncated',
      modelOf([...text('half'), finish('length')]),
      { code: 'INVALID_PAYLOAD', details: { reason: 'truncated' } },
    ],
    [
      'is too large',
      modelOf([...text('x'.repeat(20_000)), finish()]),
      { code: 'INVALID_PAYLOAD', details: { reason: 'too-large' } },
    ],
    [
      'cannot be had',
      modelOf(new TypeError('no')),
      { code: 'OUTCOME_UNKNOWN', details: { reason: 'unavailable' } },
    ],
  ])('that %s has failed, and the session stays usable', async (_, model, cause) => {
    const ctx = await startHost()
    const session = sessionOf(ctx, 12)
    const before = seen(session)
    const result = await ctx.compaction.compact(session, { summarizer: aiSdkSummarizer({ model }) })
    expect(result).toMatchObject({ outcome: 'failed', error: { code: 'SUMMARIZER_FAILED', cause } })
    expect(session.log.last?.data).toMatchObject({ outcome: 'failed', error: { code: 'SUMMARIZER_FAILED' } })
    expect(seen(session)).toBe(before)
    expect(statuses(session)).toEqual([])
    say(session, 'usable')
    expect(await ctx.compaction.compact(session)).toMatchObject({ outcome: 'applied' })
    expect(seen(session)).toBe(cold(ctx, session))
  })

  it('over a server is applied after a rate limit', async () => {
    const ctx = await startHost()
    const session = sessionOf(ctx, 12)
    const { model } = await serve(refused(429, { 'retry-after-ms': '1' }), streamed(['The tide', ' table.']))
    const result = await ctx.compaction.compact(session, { summarizer: aiSdkSummarizer({ model }) })
    expect(result).toMatchObject({ outcome: 'applied' })
    expect(summaries(session)).toEqual(['The tide table.'])
  })

  it.each<[what: string, outcome: object]>([
    ['is cancelled', { outcome: 'cancelled', error: { code: 'ABORTED' } }],
    ['takes too long', { outcome: 'failed', error: { code: 'SUMMARY_TIMEOUT' } }],
  ])('that %s closes its connection', async (what, outcome) => {
    const ctx = await startHost({ summaryTimeoutMs: what === 'takes too long' ? 200 : 60_000 })
    const session = sessionOf(ctx, 12)
    const controller = new AbortController()
    const { model, seen: exchanges } = await serve((response) => {
      if (what === 'is cancelled') controller.abort()
      return hangs(response)
    })
    const summarizer = aiSdkSummarizer({ model })
    const result = await ctx.compaction.compact(session, { summarizer, signal: controller.signal })
    expect(result).toMatchObject(outcome)
    await expect.poll(() => exchanges.length).toBe(1)
    expect(await exchanges[0]?.closed).toBe(false)
    expect(exchanges).toHaveLength(1)
  })
})
