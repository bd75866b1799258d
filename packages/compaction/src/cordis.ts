import type {} from 'cordis'
import type {} from '@tidemark/session-core/cordis'
import type { Session } from '@tidemark/session-core'
import type { AuthorizeFactRequest, Compaction } from '@tidemark/compaction'
import type { CompactionEnded, FactProblemsFound, FactsMissing, OverBudget } from '@tidemark/compaction'

declare module 'cordis' {
  interface Context {
    compaction: Compaction
  }
  interface Events {
    'tidemark/compaction'(session: Session, ended: CompactionEnded): void
    'tidemark/authorize-fact'(request: AuthorizeFactRequest): void | Promise<void>
    'tidemark/over-budget'(session: Session, status: OverBudget): void
    'tidemark/fact-problems'(session: Session, found: FactProblemsFound): void
    'tidemark/facts-missing'(session: Session, missing: FactsMissing): void
  }
}
