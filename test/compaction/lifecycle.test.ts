import { getEventListeners } from 'node:events'
import { compaction } from '@tidemark/compaction'
import { describe, expect, it } from 'vitest'
import {
  codeOf,
  cold,
  crash,
  load,
  say,
  seen,
  sessionOf,
  startHost,
  statuses,
  summaries,
  types,
} from './host.ts'
import { doing, hanging, held, saying } from './summarizers.ts'

describe('the life of a compaction', () => {
  it('records the start before the summarizer is called, and the summary and the end together', async () => {
    const ctx = await startHost()
    const session = sessionOf(ctx, 10)
    const before = session.log.length
    let typesAtCall: string[] = []
    const summarizer = doing(() => {
      typesAtCall = types(session, before)
      return { text: 'short' }
    })
    const result = await ctx.compaction.compact(session, { summarizer })
    expect(typesAtCall).toEqual(['compact/start'])
    expect(types(session, before)).toEqual(['compact/start', 'compact/summary', 'compact/end'])
    expect(result).toMatchObject({ outcome: 'applied', seq: session.log.length - 1, range: { from: 0 } })
  })

  it('G33: changes the transcript at the end, and not before', async () => {
    const ctx = await startHost()
    const session = sessionOf(ctx, 10)
    const before = seen(session)
    const { summarizer, answer } = held()
    const running = ctx.compaction.compact(session, { summarizer })
    expect(seen(session)).toBe(before)
    answer('what was said')
    await running
    expect(summaries(session)).toEqual(['what was said'])
    expect(session.messages().length).toBe(1 + 8)
  })

  it('gives the summarizer what the model sees of the range, deeply frozen', async () => {
    const ctx = await startHost()
    const session = sessionOf(ctx, 10)
    const shown = session.messages().slice(0, -8)
    const { summarizer, answer, requests } = held()
    const running = ctx.compaction.compact(session, { summarizer })
    const [request] = requests
    expect(request?.messages).toEqual(shown)
    expect(() => (request!.messages as unknown[]).pop()).toThrow(TypeError)
    expect(() => Object.assign(request!.messages[0]!, { role: 'system' })).toThrow(TypeError)
    expect(() => (request!.messages[0]!.parts as unknown[]).push(1)).toThrow(TypeError)
    expect(() => Object.assign(request!.messages[0]!.parts[0]!, { text: 'x' })).toThrow(TypeError)
    answer('short')
    await running
    expect(request?.signal.aborted).toBe(true)
  })

  it('refuses a second one while the first is live, and writes nothing for it', async () => {
    const ctx = await startHost()
    const session = sessionOf(ctx, 10)
    const { summarizer, answer } = held()
    const running = ctx.compaction.compact(session, { summarizer })
    const length = session.log.length
    expect(await codeOf(() => ctx.compaction.compact(session))).toBe('BUSY')
    expect(session.log.length).toBe(length)
    answer('short')
    expect(await running).toMatchObject({ outcome: 'applied' })
    say(session, 'more')
    expect(await ctx.compaction.compact(session)).toMatchObject({ outcome: 'applied' })
  })

  it('outlives the turn that it was started in', async () => {
    const ctx = await startHost()
    const session = sessionOf(ctx, 10)
    const { summarizer, answer } = held()
    session.append('turn/start', {})
    const running = ctx.compaction.compact(session, { summarizer })
    session.append('turn/end', { reason: 'completed' })
    session.append('turn/start', {})
    expect(statuses(session)).toEqual(['live'])
    answer('short')
    expect(await running).toMatchObject({ outcome: 'applied' })
    expect(seen(session)).toBe(cold(ctx, session))
  })

  it('writes nothing when the transcript would not change', async () => {
    const ctx = await startHost()
    const empty = ctx.sessions.create()
    const short = sessionOf(ctx, 4)
    for (const session of [empty, short]) {
      const length = session.log.length
      expect(await ctx.compaction.compact(session)).toEqual({ outcome: 'nothing', reason: 'too-short' })
      expect(session.log.length).toBe(length)
    }
  })

  it('D01: a start that a crash orphaned is settled by the boundary, and a new compaction is the only open one', async () => {
    const ctx = await startHost()
    const session = sessionOf(ctx, 10)
    void ctx.compaction.compact(session, { summarizer: hanging })
    const resumed = crash(ctx, session)
    expect(statuses(resumed)).toEqual(['orphaned'])
    const { summarizer, answer } = held()
    const running = ctx.compaction.compact(resumed, { summarizer })
    expect(statuses(resumed)).toEqual(['orphaned', 'live'])
    answer('short')
    await running
    expect(statuses(resumed)).toEqual(['orphaned'])
    const again = crash(ctx, resumed)
    expect(types(again, resumed.log.length)).toEqual(['session/resumed'])
    expect(types(crash(ctx, again), again.log.length)).toEqual([])
    const [orphan] = again.open(compaction)
    const late = { id: String(orphan?.key), outcome: 'applied' } as const
    expect(await codeOf(() => again.append('compact/end', late))).toBe('NOT_OPEN')
  })

  it('D12: with no event between nothing changes; with one, it compacts again and the brackets stay valid', async () => {
    const ctx = await startHost()
    const session = sessionOf(ctx, 10)
    expect(await ctx.compaction.compact(session)).toMatchObject({ outcome: 'applied' })
    const length = session.log.length
    expect(await ctx.compaction.compact(session)).toEqual({ outcome: 'nothing', reason: 'unchanged' })
    expect(session.log.length).toBe(length)
    session.append('user/message', { parts: [{ type: 'text', text: 'one more', author: 'human' }] })
    const second = await ctx.compaction.compact(session)
    expect(second).toMatchObject({ outcome: 'applied', range: { from: 0 } })
    expect(summaries(session).length).toBe(1)
    expect(statuses(session)).toEqual([])
    expect(seen(session)).toBe(cold(ctx, session))
  })

  it('D14, G34: after four failures the session is not busy, takes appends, and says why in its log', async () => {
    const ctx = await startHost()
    const session = sessionOf(ctx, 10)
    for (let round = 0; round < 4; round++) {
      const result = await ctx.compaction.compact(session, { summarizer: saying('') })
      expect(result).toMatchObject({ outcome: 'failed', error: { code: 'SUMMARY_EMPTY' } })
      expect(session.log.last?.data).toMatchObject({ outcome: 'failed', error: { code: 'SUMMARY_EMPTY' } })
      expect(statuses(session)).toEqual([])
    }
    say(session, 'still here')
    expect(await ctx.compaction.compact(session)).toMatchObject({ outcome: 'applied' })
  })

  it('is cancelled by its signal, before or while the summarizer works', async () => {
    const ctx = await startHost()
    const session = sessionOf(ctx, 10)
    const { summarizer, answer, requests } = held()
    const stop = new AbortController()
    const running = ctx.compaction.compact(session, { summarizer, signal: stop.signal })
    stop.abort()
    expect(await running).toMatchObject({ outcome: 'cancelled', error: { code: 'ABORTED' } })
    expect(requests[0]?.signal.aborted).toBe(true)
    const length = session.log.length
    answer('too late')
    await new Promise(setImmediate)
    expect(session.log.length).toBe(length)
    const aborted = await ctx.compaction.compact(session, { summarizer, signal: AbortSignal.abort() })
    expect(aborted).toMatchObject({ outcome: 'cancelled' })
    expect(requests.length).toBe(1)
    expect(session.log.last).toMatchObject({ type: 'compact/end', data: { outcome: 'cancelled' } })
  })

  it('rejects, and leaves an orphan, when the session is disposed meanwhile', async () => {
    const ctx = await startHost()
    const session = sessionOf(ctx, 10)
    const { summarizer, answer } = held()
    const running = ctx.compaction.compact(session, { summarizer })
    await ctx.sessions.dispose(session)
    expect(await codeOf(() => running)).toBe('DISPOSED')
    answer('too late')
    await new Promise(setImmediate)
    expect(session.log.last?.type).toBe('compact/start')
    expect(statuses(crash(ctx, session))).toEqual(['orphaned'])
  })

  it('has left no timer and no listener when it ended: nothing keeps the process, or the signal, waiting', async () => {
    const { ctx } = await load()
    const session = sessionOf(ctx, 10)
    const timers = (): number => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length
    const { signal } = new AbortController()
    const before = timers()
    const { summarizer, answer } = held()
    const running = ctx.compaction.compact(session, { signal, summarizer })
    expect([timers(), getEventListeners(signal, 'abort').length]).toEqual([before + 1, 1])
    answer('a summary')
    expect(await running).toMatchObject({ outcome: 'applied' })
    expect([timers(), getEventListeners(signal, 'abort').length]).toEqual([before, 0])
  })

  it('runs in many sessions at once, each for itself', async () => {
    const ctx = await startHost()
    const sessions = Array.from({ length: 5 }, () => sessionOf(ctx, 10))
    const results = await Promise.all(sessions.map((session) => ctx.compaction.compact(session)))
    expect(results.map(({ outcome }) => outcome)).toEqual(Array(5).fill('applied'))
    expect(new Set(sessions.map(seen)).size).toBe(1)
  })

  it('ends the process in no case: a caller may look late or never', async () => {
    const rejections: unknown[] = []
    const note = (reason: unknown): void => void rejections.push(reason)
    process.on('unhandledRejection', note)
    const ctx = await startHost()
    const session = sessionOf(ctx, 10)
    const running = ctx.compaction.compact(session, { summarizer: hanging })
    await ctx.sessions.dispose(session)
    await new Promise((resolve) => setTimeout(resolve, 5))
    process.off('unhandledRejection', note)
    expect(rejections).toEqual([])
    expect(await codeOf(() => running)).toBe('DISPOSED')
  })

  it('a listener that compacts again at the end of one is not in its way', async () => {
    const { ctx, plugin } = await load({ retainMessages: 2 })
    const session = sessionOf(ctx, 10)
    const outcomes: string[] = []
    const note = ({ outcome }: { outcome: string }): void => void outcomes.push(outcome)
    let rounds = 0
    ctx.on('tidemark/event', (from, event) => {
      if (event.type !== 'compact/end' || rounds++ > 0) return
      say(from, 'from a listener')
      void ctx.compaction.compact(from, { summarizer: hanging }).then(note)
    })
    note(await ctx.compaction.compact(session))
    expect(await codeOf(() => ctx.compaction.compact(session))).toBe('BUSY')
    await plugin.dispose()
    await expect.poll(() => outcomes).toEqual(['applied', 'cancelled'])
    expect(session.log.last?.type).toBe('compact/end')
  })
})
