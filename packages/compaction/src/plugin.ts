import { tracked, type Session, type Sessions } from '@tidemark/session-core'
import { Automatic } from './automatic.ts'
import { budgetOf } from './budget.ts'
import { Bus } from './bus.ts'
import { Compaction } from './compaction.ts'
import { Config } from './config.ts'
import { definitionsWith } from './definitions.ts'
import { factsWith } from './fact.ts'
import { FactProblemsTold } from './fact-problems.ts'
import type { CompactionHost } from './host.ts'
import { OverBudgets } from './over-budgets.ts'
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
    const overs = new OverBudgets(settings, bus)
    const runs = new Runs(bus, overs)
    yield () => runs.close()
    yield ctx.on('tidemark/disposed', (session) => runs.drop(session))
    yield ctx.on('tidemark/durable', (session) => runs.retry(session))
    const isOurs = (session: Session): boolean => sessions.find(session.id) === session
    const problems = new FactProblemsTold({ isOurs, facts, bounds: settings, bus })
    yield ctx.on('tidemark/event', (session, event) => problems.heard(session, event))
    // A writer need not tell when it takes events again.
    yield ctx.on('tidemark/event', (session, { type }) => {
      if (type === 'step/end' || type === 'turn/end') runs.retry(session)
    })
    const compaction = new Compaction(ctx, settings, { sessions, runs, facts, bus })
    const budget = budgetOf(settings)
    if (settings.automatic && budget) {
      const automatic = new Automatic({ sessions, compaction, runs, overs, settings, budget, bus })
      yield* automatically(ctx, automatic)
    }
    yield ctx.provide('compaction', tracked(compaction, 'compaction'))
  }, 'ctx.compaction')
}

function* automatically(ctx: CompactionHost, automatic: Automatic): Generator<() => unknown> {
  yield () => automatic.close()
  yield ctx.on('tidemark/created', (session) => automatic.notice(session))
  yield ctx.on('tidemark/event', (session, event) => automatic.heard(session, event))
  automatic.noticeAll()
}
