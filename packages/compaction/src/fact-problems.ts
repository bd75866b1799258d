import {
  isSessionError,
  type Projection,
  type Session,
  type SessionEvent,
  type SessionView,
} from '@tidemark/session-core'
import type { Bus } from './bus.ts'
import type { FactProblem, FactsState } from './fact.ts'
import { factSizeBytes, problemCountMax, problemOf } from './facts-edit.ts'
import type { FactBounds } from './pin.ts'

/** What was meant as a fact and is not in force, or not as it was meant. */
export interface FactProblems {
  /** The newest 32, oldest first. */
  readonly problems: readonly FactProblem[]
  /** All of them, those that are not listed any more included. */
  readonly problemCount: number
}

/** What `tidemark/fact-problems` tells: `problems` are those that this event made. */
export interface FactProblemsFound extends FactProblems {
  readonly seq: number
}

/** With what is in force beyond the host's own bounds, which the projection does not know. Pure. */
export function problemsOf({ facts, problems, unlistedCount }: FactsState, bounds: FactBounds): FactProblems {
  let sizeBytes = 0
  const over = facts.filter((fact, index) => {
    sizeBytes += factSizeBytes(fact)
    return index >= bounds.factCountMax || sizeBytes > bounds.factsSizeBytesMax
  })
  const found = over.map(({ seq, text: line }) => problemOf({ seq, line, reason: 'over-bound' }))
  const all = [...problems, ...found].sort((one, other) => one.seq - other.seq)
  return Object.freeze({
    problems: Object.freeze(all.slice(-problemCountMax)),
    problemCount: unlistedCount + all.length,
  })
}

interface Own {
  readonly isOurs: (session: Session) => boolean
  readonly facts: Projection<FactsState>
  readonly bounds: FactBounds
  readonly bus: Bus
}

/** Tells the bus what an event meant as a fact and did not make one: a host need not ask. */
export class FactProblemsTold {
  constructor(private readonly own: Own) {}

  heard(session: Session, { type, seq }: Pick<SessionEvent, 'type' | 'seq'>): void {
    const { isOurs, bounds, bus } = this.own
    if ((type !== 'user/message' && type !== 'fact/pinned') || !isOurs(session)) return
    const state = this.find(session)
    if (state === undefined) return
    const { problems: all, problemCount } = problemsOf(state, bounds)
    const problems = Object.freeze(all.filter((problem) => problem.seq === seq))
    if (problems.length === 0) return
    const found: FactProblemsFound = Object.freeze({ seq, problems, problemCount })
    bus.tell('tidemark/fact-problems', session, found)
  }

  /** None of a session that was resumed with its end only, from before the facts were known. */
  private find(session: SessionView): FactsState | undefined {
    try {
      return session.read(this.own.facts)
    } catch (error) {
      if (!isSessionError(error) || error.code !== 'NOT_LOADED') throw error
      return undefined
    }
  }
}
