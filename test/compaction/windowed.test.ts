import { join } from 'node:path'
import * as persistence from '@tidemark/session-persistence'
import type {} from '@tidemark/session-persistence/cordis'
import { expect, it } from 'vitest'
import { scratch } from '../session-persistence/scratch.ts'
import { answer, call, load, say, seen, type Loaded } from './host.ts'

const budget = { contextTokensMax: 4_000, automatic: true }

async function hostOn(root: string, config = {}): Promise<Loaded> {
  const host = await load(config)
  const window = { snapshotEvents: 20, retainEvents: 0, retainSizeBytes: 0, flushDelayMs: 1 }
  await host.ctx.plugin(persistence, { enabled: true, root, ...window })
  return host
}

it('recall and pruning reach events that are not in memory any more, over restarts', async () => {
  const root = join(scratch(), 'root')
  const { ctx } = await hostOn(root)
  const session = await ctx.sessionPersistence.create({ id: 'a' })
  for (let turn = 0; turn < 20; turn++) say(session, `request ${turn}`)
  const applied = await ctx.compaction.compact(session)
  if (applied.outcome !== 'applied') throw new TypeError('not applied')
  const text = 'something large. '.repeat(200)
  answer(session, call(session, 'big'), text)
  const resultSeq = session.log.length - 1
  for (let turn = 0; turn < 30; turn++) say(session, `later ${turn}`)
  await ctx.sessions.flush(session)
  await expect.poll(() => session.log.base).toBeGreaterThan(resultSeq)
  const first = await ctx.compaction.recall(session, applied.id, { countMax: 3 })
  expect(first.events.map(({ seq }) => seq)).toEqual([0, 1, 2])
  const { pruned } = await ctx.compaction.prune(session, { resultSizeBytesMax: 512, keepLast: 0 })
  expect(pruned).toEqual([resultSeq])
  await ctx.sessions.flush(session)
  const shown = seen(session)
  expect(shown).toContain(`stands at seq ${resultSeq}`)
  await ctx.sessions.dispose(session)

  const { ctx: next } = await hostOn(root)
  const resumed = await next.sessionPersistence.resume('a')
  expect(seen(resumed)).toBe(shown)
  const page = await next.compaction.recall(resumed, applied.id)
  expect(page.events.length).toBe(applied.range.through + 1)
  const { events } = await resumed.history({ from: resultSeq, through: resultSeq })
  expect(events).toMatchObject([{ data: { parts: [{ text }] } }])
  await next.sessions.dispose(resumed)
})

it('a session that was resumed without what compaction knows of it is noticed, and compacted', async () => {
  const root = join(scratch(), 'root')
  const plain = await load()
  await plain.plugin.dispose()
  const window = { snapshotEvents: 20, retainEvents: 0, retainSizeBytes: 0, flushDelayMs: 1 }
  await plain.ctx.plugin(persistence, { enabled: true, root, ...window })
  const session = await plain.ctx.sessionPersistence.create({ id: 'a' })
  for (let turn = 0; turn < 60; turn++) say(session, `request ${turn}`)
  await plain.ctx.sessions.flush(session)
  await expect.poll(() => session.log.base).toBeGreaterThan(100)
  await plain.ctx.sessions.dispose(session)

  const { ctx } = await hostOn(root, budget)
  const resumed = await ctx.sessionPersistence.resume('a')
  expect(resumed.log.base).toBeGreaterThan(100)
  const outcomes: string[] = []
  ctx.on('tidemark/compaction', (_session, { outcome }) => void outcomes.push(outcome))
  await expect.poll(() => outcomes, { timeout: 8_000 }).toEqual(['applied'])
  expect(ctx.compaction.status(resumed)).toMatchObject({ isOver: false, attempts: 0 })
  await ctx.sessions.dispose(resumed)
})
