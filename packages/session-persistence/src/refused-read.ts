import { SessionError, isSessionError } from '@tidemark/session-core'

/** A seq that a log of this length does not have. */
export function noEventAt(sessionId: string, seq: number, length: number): SessionError {
  const message = `${sessionId}: no event at ${seq}: the log holds ${length} events`
  return new SessionError('INVALID_SEQ', message, { sessionId, intactThrough: length - 1 })
}

/** Every log has a batch, if an empty one: a storage that gives none has lost it, or never wrote it. */
export function noBatch(sessionId: string): SessionError {
  const message = `${sessionId}: the storage gave no batch; a read gives the last one, an empty one at least`
  return new SessionError('CORRUPT', message, { sessionId })
}

/** Whether something was refused as damage, or as another log than was asked for. */
export function isCorrupt(error: unknown): error is SessionError {
  return isSessionError(error) && error.code === 'CORRUPT'
}
