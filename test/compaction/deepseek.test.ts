import * as core from '@tidemark/session-core'
import type {} from '@tidemark/session-core/deepseek'
import * as compaction from '@tidemark/compaction'
import type {} from '@tidemark/compaction/deepseek'
import { Context } from '@deepseek-ai/cordis'
import { expect, it, onTestFinished } from 'vitest'
import { say, types } from './host.ts'

it('compacts by itself in the other host too, tells its bus, and knows who owns a session', async () => {
  const ctx = new Context()
  const fiber = await ctx.plugin(core, {})
  onTestFinished(async () => void (await fiber.dispose()))
  const plugin = await ctx.plugin(compaction, { contextTokensMax: 2_000, automatic: true })
  const told: string[] = []
  ctx.on('tidemark/compaction', (_session, { outcome, trigger }) => void told.push(`${trigger} ${outcome}`))
  const guests: Context[] = []
  for (const name of ['owner', 'stranger']) {
    const apply = (own: Context): void => void guests.push(own)
    await ctx.plugin({ name, inject: ['sessions', 'compaction'], apply })
  }
  const [owner, stranger] = guests as [Context, Context]
  const session = owner.sessions.create()
  for (let turn = 0; turn < 25; turn++) say(session, `request ${turn}`)
  await expect.poll(() => told).toEqual(['automatic applied'])
  const wish = { text: 'a wish' }
  await expect(stranger.compaction.requestPin(session, wish)).rejects.toMatchObject({ code: 'DENIED' })
  expect(await owner.compaction.requestPin(session, wish)).toMatchObject(wish)
  const other = ctx.sessions.create()
  await plugin.dispose()
  for (let turn = 0; turn < 25; turn++) say(other, `request ${turn}`)
  await new Promise(setImmediate)
  expect(types(other)).not.toContain('compact/start')
})
