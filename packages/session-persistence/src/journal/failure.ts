import { SessionError } from '@tidemark/session-core'
import { isSystemFailure } from './port.ts'

/** Bytes in a session's files that do not fit. Nothing was changed. */
export interface Unfit {
  readonly segment: string
  readonly reason: string
  readonly offset?: number
  readonly line?: number
  readonly intactThrough?: number
  /** The row of the recovery rule that refuses it. */
  readonly rule?: string
}

export function corrupt(
  sessionId: string,
  { segment, reason, offset, line, intactThrough, rule }: Unfit,
): SessionError {
  // A read that began in the middle counts no lines.
  const isCounted = line !== undefined && !Number.isNaN(line)
  const at = offset === undefined ? '' : ` at byte ${offset}`
  const where = `${segment}${isCounted ? ` line ${line}` : ''}${at}`
  const intact = intactThrough === undefined ? '' : `; intact through seq ${intactThrough}`
  const details = { ...(offset !== undefined && { offset }), ...(isCounted && { line }) }
  return new SessionError('CORRUPT', `${sessionId}: ${where} ${reason}${intact}; nothing was changed`, {
    sessionId,
    segment,
    reason,
    ...details,
    ...(intactThrough !== undefined && { intactThrough }),
    ...(rule !== undefined && { rule }),
  })
}

/**
 * What the medium failed at, as an error of ours. Errors that are ours already, and bugs, stay what they are.
 */
export function failure(what: string, cause: unknown): unknown {
  if (!isSystemFailure(cause)) return cause
  return new SessionError('STORAGE_FAILED', `${what} failed: ${cause.code}`, { reason: cause.code, cause })
}

/** Runs work on the medium, with its failures as errors of ours. */
export async function guarded<T>(what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw failure(what, error)
  }
}
