import { SessionError, isSessionError } from '@tidemark/session-core'

/** What a storage failed with, as an error of ours. */
export function asSessionError(sessionId: string, error: unknown): SessionError {
  if (isSessionError(error)) return error
  return new SessionError('STORAGE_FAILED', `${sessionId}: the storage failed`, { sessionId, cause: error })
}

/** What an append meets after a failure. */
export function refusalAfter(sessionId: string, cause: SessionError): SessionError {
  if (cause.code === 'FENCED' || cause.code === 'DISPOSED' || cause.code === 'DENIED') return cause
  const message = `${sessionId}: its writer failed (${cause.code}) and is over; resume the session`
  return new SessionError('STORAGE_FAILED', message, { sessionId, cause })
}
