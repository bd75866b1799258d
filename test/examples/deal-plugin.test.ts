import * as compaction from '@tidemark/compaction'
import * as core from '@tidemark/session-core'
import { Context } from 'cordis'
import { expect, it, onTestFinished } from 'vitest'
import * as dealer from '../../examples/deal-plugin.ts'
import type {} from '@tidemark/compaction/cordis'
import type {} from '@tidemark/session-core/cordis'

function say(session: core.Session, text: string): number {
  session.append('user/message', { parts: [{ type: 'text', text, author: 'human' }] })
  return session.append('assistant/message', { parts: [{ type: 'text', text: 'yes '.repeat(200) }] }).seq
}

it.each([
  { title: 'with the plugin, a cut that would fall into a closed deal falls before it', isLoaded: true },
  { title: 'without it nobody knows of the deal, and it is cut', isLoaded: false },
])('$title', async ({ isLoaded }) => {
  const ctx = new Context()
  onTestFinished(() => ctx.fiber.dispose())
  await ctx.plugin(core, core.Config.parse({}))
  await ctx.plugin(compaction)
  const plugin = await ctx.plugin(dealer)
  const session = ctx.sessions.create()
  const before = say(session, 'before')
  session.append('deal/start', { id: 'lamp' })
  const inside = say(session, 'ten for the lamp?')
  say(session, 'nine?')
  session.append('deal/end', { id: 'lamp' })
  if (!isLoaded) await plugin.dispose()
  const plan = ctx.compaction.plan(session, { retainMessages: 2 })
  expect(plan).toMatchObject({ kind: 'replace', range: { through: isLoaded ? before : inside } })
})
