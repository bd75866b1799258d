import type { Session } from '@tidemark/session-core'
import type { Context } from 'cordis'
import { describe, expect, it } from 'vitest'
import {
  answer,
  call,
  cold,
  crash,
  say,
  seen,
  sessionOf,
  startHost,
  statuses,
  summaries,
  types,
} from './host.ts'
import { hanging, held, saying } from './summarizers.ts'
import { complaints } from '../session-core/pairing.ts'

/** A whole compaction with appends while it ran. Returns the seq of its start. */
async function compacted(ctx: Context, session: Session): Promise<number> {
  const start = session.log.length
  const { summarizer, answer: sum } = held()
  const running = ctx.compaction.compact(session, { summarizer })
  say(session, 'while it ran')
  sum('a summary')
  await running
  return start
}

describe('a crash at any event of a compaction', () => {
  it('D05, G34: without its end it is not applied, blocks nothing, and the next one is', async () => {
    const ctx = await startHost()
    const session = sessionOf(ctx, 10)
    ctx.compaction.pin(session, { key: 'rule', text: 'never do X' })
    const start = await compacted(ctx, session)
    expect(types(session, start).at(-2)).toBe('compact/summary')
    for (let through = start - 1; through < session.log.length; through++) {
      const resumed = crash(ctx, session, through)
      const isApplied = through === session.log.length - 1
      expect(summaries(resumed)).toEqual(isApplied ? ['a summary'] : [])
      expect(statuses(resumed)).toEqual(through < start || isApplied ? [] : ['orphaned'])
      say(resumed, 'after the crash')
      expect(await ctx.compaction.compact(resumed, { summarizer: saying('second') })).toMatchObject({
        outcome: 'applied',
      })
      expect(summaries(resumed)).toEqual(['second'])
      expect(ctx.compaction.facts(resumed).map(({ text }) => text)).toEqual(['never do X'])
      expect(seen(resumed)).toBe(cold(ctx, resumed))
      expect(complaints(resumed.messages())).toEqual([])
    }
  })

  it('D05: two crashes in a row leave two orphans, and the third compaction is applied', async () => {
    const ctx = await startHost()
    const first = sessionOf(ctx, 10)
    const start = await compacted(ctx, first)
    for (let cut = start; cut < first.log.length - 1; cut++) {
      const second = crash(ctx, first, cut)
      const secondStart = await compacted(ctx, second)
      for (let again = secondStart; again < second.log.length - 1; again++) {
        const third = crash(ctx, second, again)
        expect(statuses(third)).toEqual(['orphaned', 'orphaned'])
        expect(summaries(third)).toEqual([])
        const result = await ctx.compaction.compact(third, { summarizer: saying('third') })
        expect(result).toMatchObject({ outcome: 'applied' })
        expect(summaries(third)).toEqual(['third'])
        expect(seen(third)).toBe(cold(ctx, third))
      }
    }
  })

  it('an orphan that is older than a finished compaction stays one, and blocks nothing', async () => {
    const ctx = await startHost()
    const session = sessionOf(ctx, 10)
    void ctx.compaction.compact(session, { summarizer: hanging })
    let resumed = crash(ctx, session)
    for (let round = 0; round < 3; round++) {
      say(resumed, `round ${round}`)
      expect(await ctx.compaction.compact(resumed)).toMatchObject({ outcome: 'applied' })
      expect(statuses(resumed)).toEqual(['orphaned'])
      resumed = crash(ctx, resumed)
    }
  })

  it('in the middle of a tool call, the call is in the summary or in the transcript, with its result', async () => {
    const ctx = await startHost({ retainMessages: 0 })
    const session = sessionOf(ctx, 5)
    session.append('turn/start', {})
    session.append('step/start', {})
    const calls = ['a', 'b', 'c', 'd', 'e'].map((id) => call(session, id))
    for (const one of calls.slice(0, 3)) answer(session, one)
    for (let through = calls[0]!.seq; through < session.log.length; through++) {
      const resumed = crash(ctx, session, through)
      expect(complaints(resumed.messages())).toEqual([])
      expect(await ctx.compaction.compact(resumed)).toMatchObject({ outcome: 'applied' })
      expect(resumed.messages().length).toBe(1)
      expect(seen(resumed)).toBe(cold(ctx, resumed))
    }
  })
})
