import { SessionError, type SessionErrorCode } from '@tidemark/session-core'

/**
 * Why something was refused, as `details.reason`. Told only to a caller who is entitled to know it: before a grant is
 * found, nothing that is stored has any part in the answer.
 */
export type ContinuityReason =
  /** Who asks. */
  | 'anonymous'
  | 'bad-credential'
  | 'no-grant'
  | 'weaker-assurance'
  | 'stale-credential'
  | 'other-principal'
  /** What is stored. */
  | 'bad-scope'
  | 'unknown-scope'
  | 'known-scope'
  | 'lost-state'
  | 'behind-witness'
  | 'ahead-of-witness'
  | 'other-store'
  | 'no-witness'
  | 'damaged'
  | 'unknown-label'
  | 'unavailable'
  | 'contended'
  /** The handle, or the incarnation that is spoken of. */
  | 'stale-generation'
  | 'closed'
  | 'reloading'
  | 'too-many'
  | 'living'
  | 'no-orphan'

const codes: Readonly<Record<ContinuityReason, SessionErrorCode>> = {
  anonymous: 'DENIED',
  'bad-credential': 'DENIED',
  'no-grant': 'DENIED',
  'weaker-assurance': 'DENIED',
  'stale-credential': 'DENIED',
  'other-principal': 'DENIED',
  'bad-scope': 'INVALID_ID',
  'unknown-scope': 'NOT_FOUND',
  'known-scope': 'EXISTS',
  'lost-state': 'CORRUPT',
  'behind-witness': 'CORRUPT',
  'ahead-of-witness': 'CORRUPT',
  'other-store': 'CORRUPT',
  'no-witness': 'CORRUPT',
  damaged: 'CORRUPT',
  'unknown-label': 'UNSUPPORTED_FORMAT',
  unavailable: 'STORAGE_FAILED',
  contended: 'STORAGE_FAILED',
  'stale-generation': 'FENCED',
  closed: 'DISPOSED',
  reloading: 'DISPOSED',
  'too-many': 'BACK_PRESSURE',
  living: 'LOCKED',
  'no-orphan': 'NOT_FOUND',
}

/** The error of a refusal. Never holds a credential. */
export function refusal(
  reason: ContinuityReason,
  message: string,
  details: Readonly<Record<string, unknown>> = {},
): SessionError {
  return new SessionError(codes[reason], message, { ...details, reason })
}

/** The error of an opening that was refused. */
export function refused(reason: ContinuityReason): SessionError {
  return refusal(reason, `refused: ${reason}; nothing was opened`)
}

/** The reason that an error bears; `undefined` for any other error. */
export function reasonOf(error: unknown): ContinuityReason | undefined {
  if (!(error instanceof Error) || !('details' in error)) return undefined
  const reason = (error.details as { reason?: unknown }).reason
  return typeof reason === 'string' && reason in codes ? (reason as ContinuityReason) : undefined
}
