import * as compaction from '@tidemark/compaction'
import { Config } from '@tidemark/compaction'
import { describe, expect, it } from 'vitest'
import {
  codeOf,
  cold,
  load,
  loadCompaction,
  say,
  seen,
  sessionOf,
  stored,
  statuses,
  summaries,
} from './host.ts'
import { held, saying } from './summarizers.ts'

describe('the plugin', () => {
  it('has the named exports of a cordis plugin and no default one', () => {
    expect(compaction).toMatchObject({ name: 'tidemark-compaction', inject: ['sessions'] })
    expect(typeof compaction.apply).toBe('function')
    expect('default' in compaction).toBe(false)
  })

  it('has every default in its config, and refuses what it does not know', () => {
    expect(Config.parse(undefined)).toMatchObject({
      summaryTimeoutMs: 60_000,
      summarySizeBytesMax: 16_384,
      retainMessages: 8,
      factsSizeBytesMax: 16_384,
      factCountMax: 64,
    })
    expect(Config.parse({}).summarizer.name).toBe('extractive')
    const bad = [
      { unknown: 1 },
      { summaryTimeoutMs: 0 },
      { retainMessages: -1 },
      { factCountMax: 1_001 },
      { summarizer: {} },
    ]
    for (const config of bad) expect(Config.safeParse(config).success).toBe(false)
  })

  it('takes the summarizer from its config, and from the call where one is given', async () => {
    const { ctx } = await load({ summarizer: saying('of the config') })
    const session = sessionOf(ctx, 10)
    await ctx.compaction.compact(session)
    expect(summaries(session)).toEqual(['of the config'])
    say(session, 'more')
    await ctx.compaction.compact(session, { summarizer: saying('of the call') })
    expect(summaries(session)).toEqual(['of the call'])
  })

  it('cancels what is running when it is unloaded, and says so in the log; the session goes on', async () => {
    const { ctx, plugin } = await load()
    const session = sessionOf(ctx, 10)
    ctx.compaction.pin(session, { key: 'rule', text: 'never do X' })
    const before = seen(session)
    const { summarizer, answer, requests } = held()
    const service = ctx.compaction
    const running = service.compact(session, { summarizer })
    await plugin.dispose()
    expect(await running).toMatchObject({ outcome: 'cancelled', error: { code: 'UNLOADED' } })
    expect(requests[0]?.signal.aborted).toBe(true)
    expect(session.log.last).toMatchObject({
      type: 'compact/end',
      data: { outcome: 'cancelled', error: { code: 'UNLOADED' } },
    })
    answer('too late')
    expect(ctx.get('compaction')).toBeUndefined()
    expect(await codeOf(() => service.compact(session))).toBe('DISPOSED')
    expect(seen(session)).toBe(before)
    session.append('turn/start', {})
    session.append('turn/end', { reason: 'completed' })
    await loadCompaction(ctx)
    expect(statuses(session)).toEqual([])
    expect(ctx.compaction.facts(session).map(({ text }) => text)).toEqual(['never do X'])
    expect(seen(session)).toBe(cold(ctx, session))
    expect(await ctx.compaction.compact(session)).toMatchObject({ outcome: 'applied' })
  })

  it('unloaded after a compaction, the transcript stays as it was', async () => {
    const { ctx, plugin } = await load()
    const session = sessionOf(ctx, 10)
    await ctx.compaction.compact(session)
    const length = session.log.length
    await plugin.dispose()
    expect(session.messages().length).toBe(9)
    say(session, 'without compaction')
    expect(session.messages().length).toBe(11)
    await loadCompaction(ctx)
    expect(session.messages().length).toBe(11)
    expect(session.log.length).toBe(length + 4)
    expect(seen(session)).toBe(cold(ctx, session))
  })

  it('settles a start that somebody else left open when it is unloaded', async () => {
    const { ctx, plugin } = await load()
    const session = sessionOf(ctx, 10)
    session.append('compact/start', { id: 'foreign', trigger: 'automatic', range: { from: 0, through: 3 } })
    await plugin.dispose()
    expect(session.log.last).toMatchObject({
      type: 'compact/end',
      data: { id: 'foreign', outcome: 'cancelled' },
    })
  })

  it('a host without it may carry what it only began, and refuses a log whose transcript it changed', async () => {
    const { ctx, plugin } = await load()
    const session = sessionOf(ctx, 10)
    const { summarizer, answer } = held()
    const running = ctx.compaction.compact(session, { summarizer })
    const begun = stored(session)
    answer('short')
    await running
    const changed = stored(session)
    await plugin.dispose()
    expect(ctx.sessions.create({ seed: begun }).messages().length).toBe(20)
    expect(await codeOf(() => ctx.sessions.create({ seed: changed, carry: ['compact/end'] }))).toBe(
      'UNKNOWN_TYPE',
    )
  })

  it('goes with core, which settles what is running, and comes back with it', async () => {
    const { ctx, core, plugin } = await load()
    const session = sessionOf(ctx, 10)
    const { summarizer } = held()
    const running = ctx.compaction.compact(session, { summarizer })
    await core.restart()
    await plugin.await()
    expect(await running).toMatchObject({ outcome: 'cancelled', error: { code: 'UNLOADED' } })
    const resumed = ctx.sessions.create({ seed: stored(session) })
    expect(statuses(resumed)).toEqual([])
    expect(await ctx.compaction.compact(resumed)).toMatchObject({ outcome: 'applied' })
  })

  it('names the calling plugin as the one who pins, unless told who it is', async () => {
    const { ctx } = await load()
    const session = sessionOf(ctx, 1)
    await ctx.plugin({
      name: 'rules',
      inject: ['compaction'],
      apply(inner: typeof ctx) {
        inner.compaction.pin(session, { key: 'a', text: 'by default' })
        inner.compaction.pin(session, { key: 'b', text: 'as told', by: 'ops' })
        inner.compaction.unpin(session, 'b')
      },
    })
    expect(ctx.compaction.facts(session)).toMatchObject([{ key: 'a', by: 'rules' }])
    expect(session.log.last?.data).toEqual({ key: 'b', by: 'rules' })
  })

  it('ends the compaction of a session whose plugin is unloaded', async () => {
    const { ctx } = await load()
    const { summarizer } = held()
    let running: Promise<unknown> | undefined
    const guest = await ctx.plugin({
      name: 'guest',
      inject: ['sessions', 'compaction'],
      apply(inner: typeof ctx) {
        running = inner.compaction.compact(sessionOf(inner, 10), { summarizer })
      },
    })
    await guest.dispose()
    expect(await codeOf(() => running)).toBe('DISPOSED')
  })
})
