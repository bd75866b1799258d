import type { OverBudget } from '@tidemark/compaction'
import { describe, expect, it } from 'vitest'
import { load, say } from './host.ts'
import { held } from './summarizers.ts'

const tokenizer = { name: 'by four', count: (text: string) => Math.ceil(text.length / 4) }

describe('what is appended while a summary is made', () => {
  it.each([false, true])(
    'counts in the result: one that takes more than the context says so everywhere (automatic: %s)',
    async (automatic) => {
      const { summarizer, answer, requests } = held()
      const { ctx } = await load({ contextTokensMax: 1_000, tokenizer, summarizer, automatic })
      const over: OverBudget[] = []
      const ended: unknown[] = []
      ctx.on('tidemark/over-budget', (_session, status) => void over.push(status))
      ctx.on('tidemark/compaction', (_session, how) => void ended.push(how))
      const session = ctx.sessions.create()
      for (let turn = 0; turn < 10; turn++) say(session, `request ${turn}`)
      if (!automatic) void ctx.compaction.compact(session)
      await expect.poll(() => requests.length).toBe(1)
      say(session, 'x'.repeat(12_000))
      answer('short')
      await expect.poll(() => ended.length).toBe(1)
      expect(ended).toMatchObject([{ outcome: 'applied', isOverContext: true }])
      const end = [...session.log].find(({ type }) => type === 'compact/end')
      const { tokens } = ctx.compaction.status(session)
      expect(tokens).toBeGreaterThan(3_000)
      expect(end?.data).toMatchObject({ outcome: 'applied', isOverContext: true, tokens })
      await expect.poll(() => over).toMatchObject([{ reason: 'not-enough', isOver: true, tokens }])
    },
  )

  it('and leaves room is nothing to tell', async () => {
    const { summarizer, answer } = held()
    const { ctx } = await load({ contextTokensMax: 1_000, tokenizer, summarizer })
    const over: OverBudget[] = []
    ctx.on('tidemark/over-budget', (_session, status) => void over.push(status))
    const session = ctx.sessions.create()
    for (let turn = 0; turn < 10; turn++) say(session, `request ${turn}`)
    const running = ctx.compaction.compact(session)
    session.append('user/message', { parts: [{ type: 'text', text: 'and more', author: 'human' }] })
    answer('short')
    expect(await running).not.toHaveProperty('isOverContext')
    expect(session.log.last?.data).not.toHaveProperty('isOverContext')
    await new Promise(setImmediate)
    expect(over).toEqual([])
  })
})
