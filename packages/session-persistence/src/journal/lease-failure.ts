import { SessionError, isSessionError } from '@tidemark/session-core'

/** `OUTCOME_UNKNOWN`: the batch may stand in the log. */
export type Failing = 'STORAGE_FAILED' | 'OUTCOME_UNKNOWN'

/** What ended a lease, as its caller meets it. */
export interface LeaseFailure {
  readonly id: string
  readonly code: Failing
  readonly what: string
  readonly cause: unknown
  /** The last seq that was acknowledged. */
  readonly endSeq: number
}

export function failureOf({ id, code, what, cause, endSeq }: LeaseFailure): SessionError {
  if (isSessionError(cause) && cause.code === 'FENCED') return cause
  const message = `${id}: ${what} failed; acknowledged through seq ${endSeq}`
  return new SessionError(code, message, { sessionId: id, intactThrough: endSeq, cause })
}

/** What every later append meets. */
export function afterFailure({ id, endSeq }: LeaseFailure, cause: SessionError): SessionError {
  if (cause.code === 'FENCED') return cause
  const message = `${id}: this writer failed earlier and is over; nothing was written`
  return new SessionError('STORAGE_FAILED', message, { sessionId: id, intactThrough: endSeq, cause })
}

export function released(sessionId: string): SessionError {
  return new SessionError('DISPOSED', `${sessionId}: this lease was released`)
}
