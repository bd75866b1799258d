import { tracked, type Sessions } from '@tidemark/session-core'
import { Automatic } from './automatic.ts'
import { Bus } from './bus.ts'
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
    const bus = new Bus(ctx)
    const runs = new Runs(bus)
    yield () => runs.close()
    yield ctx.on('tidemark/disposed', (session) => runs.drop(session))
    yield ctx.on('tidemark/durable', (session) => runs.retry(session))
    const compaction = new Compaction(ctx, settings, { sessions, runs, facts, bus })
    if (settings.automatic) yield* automatically(ctx, new Automatic({ sessions, compaction, settings, bus }))
    yield ctx.provide('compaction', tracked(compaction, 'compaction'))
  }, 'ctx.compaction')
}

function* automatically(ctx: CompactionHost, automatic: Automatic): Generator<() => unknown> {
  yield () => automatic.close()
  yield ctx.on('tidemark/created', (session) => automatic.notice(session))
  yield ctx.on('tidemark/event', (session, event) => automatic.heard(session, event))
  automatic.noticeAll()
}
