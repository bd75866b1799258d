import { isSessionError, type Session } from '@tidemark/session-core'
import { compaction } from './bracket.ts'
import type { CompactEnd } from './event.ts'

/**
 * Ends a compaction that was not applied. Where the end itself is refused, by a host's redaction for one, it is
 * recorded as abandoned, which nobody is asked about: else the session would be busy until it is restarted.
 *
 * @throws what the session refuses every event with; then it is live as before.
 */
export function recordEnd(session: Session, end: CompactEnd, startSeq: number): void {
  try {
    session.append('compact/end', end)
  } catch (error) {
    if (!isSessionError(error) || !isOfThisEvent(error.code)) throw error
    session.abandon(compaction, startSeq)
  }
}

function isOfThisEvent(code: string): boolean {
  return code === 'INVALID_EVENT' || code === 'INVALID_PAYLOAD' || code === 'UNKNOWN_TYPE'
}
