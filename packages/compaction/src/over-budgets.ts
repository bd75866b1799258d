import { isSessionError, type Session } from '@tidemark/session-core'
import type { Bus } from './bus.ts'
import type { Settings } from './config.ts'
import { readStatus, type OverBudget, type OverBudgetReason, type OverBudgetRefused } from './status.ts'

/** Tells the bus of sessions that stay over their budget: once, until the reason changes or they are within it. */
export class OverBudgets {
  private readonly told = new WeakMap<Session, string>()

  constructor(
    private readonly settings: Settings,
    private readonly bus: Bus,
  ) {}

  tell(session: Session, reason: Exclude<OverBudgetReason, 'refused'>): void {
    this.tellOnce(session, reason, () => ({ ...this.statusOf(session), reason }))
  }

  /** Nothing could be begun: `refusals` times in a row, in this process. */
  tellRefused(session: Session, cause: unknown, refusals: number): void {
    const code = isSessionError(cause) ? cause.code : 'START_FAILED'
    this.tellOnce(session, `refused ${code}`, () => {
      const refused = { reason: 'refused', code, refusals } as const
      return { ...this.findStatus(session), ...refused } satisfies OverBudgetRefused
    })
  }

  /** It is within its budget again. */
  forget(session: Session): void {
    this.told.delete(session)
  }

  /** After a compaction that was applied. `isOverContext`: with what came meanwhile it takes more than the context. */
  judgeApplied(session: Session, isOverContext: boolean): void {
    const status = this.findStatus(session)
    if (status && isOverContext)
      this.tellOnce(session, 'not-enough', () => ({ ...status, reason: 'not-enough' }))
    else if (status?.isOver === false) this.forget(session)
  }

  private tellOnce(session: Session, what: string, notice: () => OverBudget): void {
    if (this.told.get(session) === what) return
    this.told.set(session, what)
    this.bus.tell('tidemark/over-budget', session, Object.freeze(notice()))
  }

  private statusOf(session: Session): ReturnType<typeof readStatus>['status'] {
    return readStatus(session, this.settings).status
  }

  /** None where the host's own tokenizer fails, or the transcript cannot be had. */
  private findStatus(session: Session): ReturnType<typeof readStatus>['status'] | undefined {
    try {
      return this.statusOf(session)
    } catch {
      return undefined // why nothing could be begun is told already
    }
  }
}
