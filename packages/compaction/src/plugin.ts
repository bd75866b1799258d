import { tracked, type Sessions } from '@tidemark/session-core'
import { Compaction } from './compaction.ts'
import { Config } from './config.ts'
import { definitionsWith } from './definitions.ts'
import { factsWith } from './fact.ts'
import type { CompactionHost } from './host.ts'
import { Runs } from './runs.ts'

export const name = 'tidemark-compaction'
export const inject = ['sessions']

/**
 * Provides `ctx.compaction`. When it is unloaded, its users go first; then what is running is cancelled, while its
 * end can still be recorded; the vocabulary goes last.
 */
export function apply(ctx: CompactionHost, config?: Config): void {
  const settings = Config.parse(config)
  ctx.effect(function* () {
    const sessions = ctx.get('sessions') as Sessions
    const facts = factsWith(settings.labels)
    yield sessions.define(definitionsWith(facts))
    const runs = new Runs((error) => ctx.logger.warn(error))
    yield () => runs.close()
    yield ctx.on('tidemark/disposed', (session) => runs.drop(session))
    yield ctx.provide(
      'compaction',
      tracked(new Compaction(ctx, settings, { sessions, runs, facts }), 'compaction'),
    )
  }, 'ctx.compaction')
}
