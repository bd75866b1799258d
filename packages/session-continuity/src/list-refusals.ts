import type { ContinuityReason } from './refusal.ts'

/** Sessions of one list that are told apart; a longer one is told of again. */
const sessionsMax = 10_000

interface Listed {
  readonly reason: ContinuityReason
  readonly sessionIds: Set<string>
}

/**
 * A store asks about every session that it might show in a list. Not to be shown somebody else's is no attempt; a list
 * that is refused is one, however many sessions there are.
 */
export class ListRefusals {
  private readonly latest = new WeakMap<object, Listed>()

  /** Whether a refusal begins a list, as far as can be told: a list asks about a session once. */
  isAttempt(asker: object, sessionId: string, reason: ContinuityReason): boolean {
    if (reason === 'other-principal') return false
    const before = this.latest.get(asker)
    const isSameList =
      before?.reason === reason && !before.sessionIds.has(sessionId) && before.sessionIds.size < sessionsMax
    if (isSameList) before.sessionIds.add(sessionId)
    else this.latest.set(asker, { reason, sessionIds: new Set([sessionId]) })
    return !isSameList
  }
}
