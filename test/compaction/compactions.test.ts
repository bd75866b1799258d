import { compaction, compactions, automaticAttempts, type CompactionRecord } from '@tidemark/compaction'
import type { Session, SessionView } from '@tidemark/session-core'
import { describe, expect, it } from 'vitest'
import { codeOf, crash, load, say, sessionOf, startHost, stored } from './host.ts'
import { hanging, held, saying } from './summarizers.ts'

const records = (session: SessionView): readonly CompactionRecord[] => session.read(compactions).records
const fates = (session: SessionView): string[] => records(session).map(({ fate }) => fate)

/** A whole compaction as its events, without asking anybody. */
function record(
  session: Session,
  id: string,
  { trigger = 'automatic', how = 'failed', tokens = 100 } = {},
): void {
  const range = { from: 0, through: 3 }
  session.append('compact/start', { id, trigger: trigger as 'manual', range, tokens })
  if (how === 'live') return
  if (how === 'applied') session.append('compact/summary', { id, text: 'sum', facts: [] })
  const code = ({ failed: 'SUMMARIZER_FAILED', cancelled: 'UNLOADED', aborted: 'ABORTED' } as const)[
    how as 'failed'
  ]
  const outcome = how === 'aborted' ? 'cancelled' : (how as 'failed')
  session.append('compact/end', { id, outcome, ...(code && { error: { code } }) })
}

describe('what became of compactions', () => {
  it('is told of each one: where it stands, what it was for, how it ended', async () => {
    const ctx = await startHost()
    const session = sessionOf(ctx, 10)
    const start = session.log.length
    const applied = await ctx.compaction.compact(session)
    say(session, 'more')
    const { through } = (applied as { range: { through: number } }).range
    await ctx.compaction.compact(session, {
      range: { from: 0, through: through + 2 },
      summarizer: saying(''),
    })
    expect(records(session)).toMatchObject([
      { trigger: 'manual', startSeq: start, endSeq: start + 2, fate: 'applied', isInForce: true },
      { fate: 'failed', code: 'SUMMARY_EMPTY', range: { from: 0, through: through + 2 } },
    ])
    expect(applied).toMatchObject({ id: records(session)[0]!.id, range: records(session)[0]!.range })
  })

  it('is orphaned where a boundary came first: after a crash, and in a fork', async () => {
    const ctx = await startHost()
    const session = sessionOf(ctx, 10)
    void ctx.compaction.compact(session, { summarizer: hanging })
    expect(fates(session)).toEqual(['live'])
    expect(fates(crash(ctx, session))).toEqual(['orphaned'])
    expect(fates(ctx.sessions.fork(session))).toEqual(['orphaned'])
    expect(fates(session)).toEqual(['live'])
  })

  it('is the same live, read cold and in a fork', async () => {
    const ctx = await startHost()
    const session = sessionOf(ctx, 10)
    for (const how of ['failed', 'applied', 'cancelled', 'applied'])
      record(session, how + session.log.length, { how })
    const view = ctx.sessions.view(session.header, stored(session))
    expect(records(view)).toEqual(records(session))
    expect(records(ctx.sessions.fork(session))).toEqual(records(session))
    expect(fates(session)).toEqual(['failed', 'applied', 'cancelled', 'applied'])
    expect(records(session).map(({ isInForce }) => isInForce)).toEqual([
      undefined,
      undefined,
      undefined,
      true,
    ])
  })

  it('one that was to be applied and recorded no summary has failed, as the transcript says', async () => {
    const ctx = await startHost()
    const session = sessionOf(ctx, 3)
    session.append('compact/start', { id: 'a', trigger: 'manual', range: { from: 0, through: 3 } })
    session.append('compact/end', { id: 'a', outcome: 'applied' })
    expect(fates(session)).toEqual(['failed'])
    expect(session.messages().length).toBe(6)
  })

  it('is abandoned where nobody could say how it ended', async () => {
    const ctx = await startHost()
    const session = sessionOf(ctx, 3)
    record(session, 'a', { how: 'live' })
    session.abandon(compaction, session.log.length - 1)
    expect(records(session)).toMatchObject([{ fate: 'abandoned', endSeq: session.log.length - 1 }])
  })

  it('is held of 1,000 at most; what is in force and what is live goes last', async () => {
    const ctx = await startHost()
    const session = sessionOf(ctx, 2)
    record(session, 'kept', { how: 'applied' })
    for (let round = 0; round < 1_000; round++) record(session, `failed ${round}`)
    const state = session.read(compactions)
    expect([state.records.length, state.droppedCount]).toEqual([1_000, 1])
    expect(state.records[0]).toMatchObject({ id: 'kept', isInForce: true })
    expect(state.records[1]).toMatchObject({ id: 'failed 1' })
    record(session, 'live', { how: 'live' })
    expect(session.read(compactions).records.at(-1)).toMatchObject({ fate: 'live' })
    expect(session.read(compactions).records.length).toBe(1_000)
  })
})

describe('automatic attempts', () => {
  const count = (session: SessionView): unknown => automaticAttempts(session.read(compactions))

  it('are those in a row that came to nothing since one was applied, whoever asked for that', async () => {
    const ctx = await startHost()
    let session = sessionOf(ctx, 3)
    expect(count(session)).toEqual({ count: 0 })
    record(session, 'a', { tokens: 1 })
    record(session, 'b', { how: 'cancelled', tokens: 2 })
    record(session, 'c', { how: 'live', tokens: 3 })
    expect(count(session)).toEqual({ count: 2, tokensAtLast: 2 })
    session = crash(ctx, session)
    expect(count(session)).toEqual({ count: 3, tokensAtLast: 3 })
    record(session, 'd', { trigger: 'manual' })
    record(session, 'e', { how: 'aborted' })
    expect(count(session)).toEqual({ count: 3, tokensAtLast: 3 })
    record(session, 'f', { trigger: 'manual', how: 'applied' })
    expect(count(session)).toEqual({ count: 0 })
  })

  it('are told of the tokens that the transcript had, which each start records where there is a budget', async () => {
    const { ctx } = await load({ contextTokensMax: 2_000 })
    const session = sessionOf(ctx, 10)
    const { tokens } = ctx.compaction.status(session)
    await ctx.compaction.compact(session, { trigger: 'automatic', summarizer: saying('') })
    expect(records(session)).toMatchObject([{ tokens, trigger: 'automatic' }])
    expect(count(session)).toEqual({ count: 1, tokensAtLast: tokens })
  })
})

describe('recall', () => {
  it('finds one that the projection holds no more: the log still tells of it', async () => {
    const ctx = await startHost()
    const session = sessionOf(ctx, 10)
    record(session, 'never applied')
    for (let round = 0; round < 1_003; round++) record(session, `applied ${round}`, { how: 'applied' })
    expect(records(session).some(({ id }) => id === 'applied 0')).toBe(false)
    const { events } = await ctx.compaction.recall(session, 'applied 0')
    expect(events.map(({ seq }) => seq)).toEqual([0, 1, 2, 3])
    expect(await codeOf(() => ctx.compaction.recall(session, 'never applied'))).toBe('NOT_FOUND')
    expect(await codeOf(() => ctx.compaction.recall(session, 'nobody'))).toBe('NOT_FOUND')
    const resumed = crash(ctx, session)
    expect((await ctx.compaction.recall(resumed, 'applied 1')).events.length).toBe(4)
  })

  it('gives the events that a summary stands for, as they were recorded, in pages', async () => {
    const ctx = await startHost()
    const session = sessionOf(ctx, 10)
    const result = await ctx.compaction.compact(session)
    if (result.outcome !== 'applied') throw new TypeError('not applied')
    const { from, through } = result.range
    const seqs: number[] = []
    let page = await ctx.compaction.recall(session, result.id, { countMax: 5 })
    for (;;) {
      expect(page.events.length).toBeLessThanOrEqual(5)
      for (const event of page.events) {
        expect(event).toBe(session.log.at(event.seq))
        seqs.push(event.seq)
      }
      if (!page.next) break
      page = await ctx.compaction.recall(session, result.id, page.next)
    }
    expect(seqs).toEqual(Array.from({ length: through - from + 1 }, (_, index) => from + index))
  })

  it('of an outer compaction gives the inner one with its own events', async () => {
    const ctx = await startHost()
    const session = sessionOf(ctx, 10)
    const inner = await ctx.compaction.compact(session)
    for (let turn = 0; turn < 10; turn++) say(session, `later ${turn}`)
    const outer = await ctx.compaction.compact(session)
    if (inner.outcome !== 'applied' || outer.outcome !== 'applied') throw new TypeError('not applied')
    const types = (await ctx.compaction.recall(session, outer.id)).events.map(({ type }) => type)
    expect(types.filter((type) => type.startsWith('compact/'))).toEqual([
      'compact/start',
      'compact/summary',
      'compact/end',
    ])
    expect(types.filter((type) => type === 'user/message').length).toBe(16)
    const view = ctx.sessions.view(session.header, stored(session))
    expect((await ctx.compaction.recall(view, inner.id)).events.length).toBe(inner.range.through + 1)
    expect((await ctx.compaction.recall(ctx.sessions.fork(session), inner.id)).events.length).toBe(
      inner.range.through + 1,
    )
  })

  it('is refused for what the log does not tell of, was not applied, or did not replace', async () => {
    const ctx = await startHost()
    const session = sessionOf(ctx, 10)
    const failed = await ctx.compaction.compact(session, { summarizer: saying('') })
    const applied = await ctx.compaction.compact(session)
    if (failed.outcome !== 'failed' || applied.outcome !== 'applied')
      throw new TypeError('as it should not be')
    const { summarizer, answer } = held()
    say(session, 'more')
    const running = ctx.compaction.compact(session, { summarizer })
    const live = records(session).at(-1)!.id
    for (const id of ['nobody', failed.id, live]) {
      expect(await codeOf(() => ctx.compaction.recall(session, id))).toBe('NOT_FOUND')
    }
    const { through } = applied.range
    for (const request of [{ from: through + 2 }, { through: through + 1 }, { from: -1 }, { from: 0.5 }]) {
      expect(await codeOf(() => ctx.compaction.recall(session, applied.id, request))).toBe('INVALID_SEQ')
    }
    answer('short')
    await running
  })
})
