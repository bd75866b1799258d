import { isSessionError, type Session, type SessionView } from '@tidemark/session-core'
import type { Budget } from './budget.ts'
import { mayTry } from './may-try.ts'
import { messagesSizeBytes, roughTokens } from './size.ts'

interface Refusal {
  readonly count: number
  /** Of the transcript at that time; none where it could not be had. */
  readonly sizeBytes: number | undefined
}

/**
 * What of automatic mode came to nothing before it was begun, in this process: the log need not tell of it, since the
 * log may be what refused it. The next try waits for as much growth as after a failure that is recorded.
 */
export class Refusals {
  private readonly last = new WeakMap<Session, Refusal>()

  constructor(
    private readonly budget: Pick<Budget, 'contextTokensMax'>,
    private readonly attemptsMax: number,
  ) {}

  mayTry(session: Session): boolean {
    const last = this.last.get(session)
    if (last === undefined) return true
    const { contextTokensMax } = this.budget
    return mayTry({
      attempts: last.count,
      attemptsMax: this.attemptsMax,
      tokensNow: roughTokens(findSizeBytes(session) ?? 0),
      contextTokensMax,
      tokensAtLast: last.sizeBytes === undefined ? undefined : roughTokens(last.sizeBytes),
    })
  }

  /** One more in a row. */
  add(session: Session): Refusal {
    const count = (this.last.get(session)?.count ?? 0) + 1
    const refusal = { count, sizeBytes: findSizeBytes(session) }
    this.last.set(session, refusal)
    return refusal
  }

  forget(session: Session): void {
    this.last.delete(session)
  }
}

/** None of a session that was resumed with its end only, and whose past cannot be read. */
function findSizeBytes(session: SessionView): number | undefined {
  try {
    return messagesSizeBytes(session.messages())
  } catch (error) {
    if (!isSessionError(error) || error.code !== 'NOT_LOADED') throw error
    return undefined
  }
}
