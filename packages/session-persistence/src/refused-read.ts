import { SessionError } from '@tidemark/session-core'

/** A seq that a log of this length does not have. */
export function noEventAt(sessionId: string, seq: number, length: number): SessionError {
  const message = `${sessionId}: no event at ${seq}: the log holds ${length} events`
  return new SessionError('INVALID_SEQ', message, { sessionId, intactThrough: length - 1 })
}

/** Every log has a batch, if an empty one. */
export function noBatch(sessionId: string): SessionError {
  return new SessionError('CORRUPT', `${sessionId}: the storage gave no batch at all`, { sessionId })
}
