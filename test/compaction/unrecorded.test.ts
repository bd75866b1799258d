import { join } from 'node:path'
import { SessionError, type Recorder, type Session } from '@tidemark/session-core'
import * as persistence from '@tidemark/session-persistence'
import type {} from '@tidemark/session-persistence/cordis'
import { describe, expect, it } from 'vitest'
import { scratch } from '../session-persistence/scratch.ts'
import { codeOf, crash, flood, load, say, sessionOf, statuses } from './host.ts'
import { held } from './summarizers.ts'

function fillUp(session: Session): void {
  for (;;) {
    try {
      session.append('turn/start', {})
      session.append('turn/end', { reason: 'completed' })
    } catch (error) {
      if (error instanceof SessionError && error.code === 'BACK_PRESSURE') return
      throw error
    }
  }
}

describe('an end that the writer does not take', () => {
  it.each([false, true])(
    'because too much waits is recorded once there is room (a call meanwhile: %s)',
    async (calls) => {
      const { ctx } = await load()
      await ctx.plugin(persistence, {
        enabled: true,
        root: join(scratch(), 'root'),
        flushDelayMs: 1_000,
        pendingSizeBytesMax: 20_000,
      })
      const session = await ctx.sessionPersistence.create({ id: 'a' })
      for (let turn = 0; turn < 10; turn++) say(session, `request ${turn}`)
      await ctx.sessions.flush(session)
      const { summarizer, answer } = held()
      const running = ctx.compaction.compact(session, { summarizer })
      const idle = ctx.compaction.idle(session)
      fillUp(session)
      answer('short')
      await expect(running).rejects.toMatchObject({ code: 'BACK_PRESSURE' })
      await idle
      expect(statuses(session)).toEqual(['live'])
      if (calls) expect(await codeOf(() => ctx.compaction.compact(session))).toBe('BACK_PRESSURE')
      await ctx.sessions.flush(session)
      await expect.poll(() => session.log.last?.type).toBe('compact/end')
      expect(session.log.last).toMatchObject({
        data: { outcome: 'failed', error: { code: 'SUMMARY_REFUSED' } },
      })
      expect(await ctx.compaction.compact(session)).toMatchObject({ outcome: 'applied' })
      await ctx.sessions.flush(session)
    },
  )

  it('because it failed for good stays open, and the boundary of the next life ends it', async () => {
    const { ctx } = await load()
    let isPoisoned = false
    const recorder: Recorder = {
      durableSeq: -1,
      admit: () => {
        if (isPoisoned) throw new SessionError('STORAGE_FAILED', 'the writer is over')
      },
      flush: async () => undefined,
      close: async () => undefined,
    }
    const session = ctx.sessions.create({ recorder })
    for (let turn = 0; turn < 10; turn++) say(session, `request ${turn}`)
    const { summarizer, answer } = held()
    const running = ctx.compaction.compact(session, { summarizer })
    isPoisoned = true
    answer('short')
    await expect(running).rejects.toMatchObject({ code: 'STORAGE_FAILED' })
    await ctx.compaction.idle(session)
    expect(await codeOf(() => ctx.compaction.compact(session))).toBe('STORAGE_FAILED')
    const resumed = crash(ctx, session)
    expect(statuses(resumed)).toEqual(['orphaned'])
    expect(await ctx.compaction.compact(resumed)).toMatchObject({ outcome: 'applied' })
  })

  it('is recorded when the plugin is unloaded, also where another instance stays', async () => {
    const { ctx, plugin } = await load()
    await ctx.isolate('compaction').plugin({ ...(await import('@tidemark/compaction')) }, {})
    const session = sessionOf(ctx, 10)
    const { summarizer } = held()
    const stop = new AbortController()
    const running = ctx.compaction.compact(session, { summarizer, signal: stop.signal })
    flood(ctx, session, () => stop.abort())
    const gone = plugin.dispose()
    await expect(running).rejects.toMatchObject({ code: 'BACK_PRESSURE' })
    await gone
    expect(session.log.last?.type).toBe('compact/end')
    expect(statuses(session)).toEqual([])
  })
})
