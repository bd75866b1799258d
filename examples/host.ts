import { fileURLToPath } from 'node:url'
import * as compaction from '@tidemark/compaction'
import * as sessions from '@tidemark/session-core'
import * as persistence from '@tidemark/session-persistence'
import { Context } from 'cordis'
import type {} from '@tidemark/compaction/cordis'
import type {} from '@tidemark/session-core/cordis'
import type {} from '@tidemark/session-persistence/cordis'

/**
 * A host whose sessions survive it: three plugins and one folder. Without `enabled: true` nothing is stored.
 * `await ctx.fiber.dispose()` ends it.
 */
export async function startHost(storage: persistence.Config): Promise<Context> {
  const ctx = new Context()
  await ctx.plugin(sessions)
  await ctx.plugin(persistence, storage)
  // The demo reads transcripts of any kind, and people label as many lines as they like.
  await ctx.plugin(compaction, { factCountMax: 1_000, factsSizeBytesMax: 1_048_576 })
  return ctx
}

/** Run it twice: the second run finds what the first one wrote, and a boundary marks where that ends. */
async function main(root = 'tidemark-sessions', text = 'Hello'): Promise<void> {
  const ctx = await startHost({ enabled: true, root })
  const { sessions: stored } = await ctx.sessionPersistence.list()
  const session = stored.some(({ id }) => id === 'greeting')
    ? await ctx.sessionPersistence.resume('greeting')
    : await ctx.sessionPersistence.create({ id: 'greeting' })
  session.append('user/message', { parts: [{ type: 'text', text, author: 'human' }] })
  await ctx.sessions.flush(session)
  for (const { seq, type } of session.log) console.log(seq, type)
  await ctx.fiber.dispose()
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main(...process.argv.slice(2))
