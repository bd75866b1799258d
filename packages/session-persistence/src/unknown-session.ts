import { SessionError } from '@tidemark/session-core'

/** What is said of an id that does not exist, and in the same words of one that the caller may not know of. */
export function unknownSession(sessionId: string): SessionError {
  return new SessionError('NOT_FOUND', 'there is no session with this id', { sessionId })
}
