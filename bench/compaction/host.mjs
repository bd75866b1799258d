import * as compaction from '@tidemark/compaction'
import * as sessions from '@tidemark/session-core'
import * as persistence from '@tidemark/session-persistence'
import { Context } from 'cordis'

/** A host as anybody composes it: plugins and a folder. Without a root nothing is stored. */
export async function startHost({ root, settings }) {
  const ctx = new Context()
  await ctx.plugin(sessions)
  if (root !== undefined) await ctx.plugin(persistence, { enabled: true, root })
  await ctx.plugin(compaction, settings)
  return ctx
}
