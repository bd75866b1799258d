import { isSessionError, type SessionErrorCode } from '@tidemark/session-core'
import type { Principal } from './principal.ts'
import { reasonOf, type ContinuityReason } from './refusal.ts'
import type { RefusalSink } from './store.ts'

/** One line of the log of refused attempts. */
export interface Refused {
  readonly time: number
  readonly operation: string
  readonly reason: ContinuityReason
  readonly principal?: string
  readonly scope?: string
  readonly sessionId?: string
  /** Attempts since the line before that were counted and not written. */
  readonly suppressed: number
}

export type Attempt = Omit<Refused, 'time' | 'suppressed'>

export interface RefusalsOptions {
  readonly sink: RefusalSink
  readonly now: () => number
  readonly report: (error: unknown) => void
  /** Lines that may be written at once. */
  readonly burstMax: number
  /** Milliseconds for one more line. */
  readonly lineMs: number
}

/** UTF-16 code units of what a caller chose, in one field. */
const fieldLengthMax = 200

/**
 * Counts refused attempts, and writes down as many as the rate allows.
 *
 * 1. Every attempt is counted; what is not written is told with the next line that is.
 * 2. Nobody waits for it, and a failure of its medium is nobody else's.
 * 3. It holds at most `burstMax` lines in memory.
 */
export class Refusals {
  private total = 0
  private suppressed = 0
  private allowance: number
  private refilledAt: number
  private waiting: Refused[] = []
  private writing: Promise<void> | undefined

  constructor(private readonly options: RefusalsOptions) {
    this.allowance = options.burstMax
    this.refilledAt = options.now()
  }

  /** Attempts since the service started. */
  get count(): number {
    return this.total
  }

  record(attempt: Attempt): void {
    this.total += 1
    const time = this.options.now()
    if (!this.mayWrite(time)) {
      this.suppressed += 1
      return
    }
    const { suppressed } = this
    this.suppressed = 0
    this.waiting.push({ ...clipped(attempt), time, suppressed })
    this.writing ??= this.drain()
  }

  /** Writes what waits, and a last line for what was only counted. */
  async close(): Promise<void> {
    if (this.suppressed > 0) {
      const { suppressed, options } = this
      this.suppressed = 0
      this.waiting.push({ operation: 'close', reason: 'closed', time: options.now(), suppressed })
      this.writing ??= this.drain()
    }
    await this.writing
  }

  private mayWrite(time: number): boolean {
    const { burstMax, lineMs } = this.options
    // A clock that steps back gives nothing, and takes nothing.
    const gained = Math.max(0, time - this.refilledAt) / lineMs
    this.refilledAt = time
    this.allowance = Math.min(burstMax, this.allowance + (Number.isFinite(gained) ? gained : 0))
    if (this.allowance < 1 || this.waiting.length >= burstMax) return false
    this.allowance -= 1
    return true
  }

  private async drain(): Promise<void> {
    await Promise.resolve()
    while (this.waiting.length > 0) {
      const lines = this.waiting
      this.waiting = []
      try {
        await this.options.sink.write(lines)
      } catch (error) {
        this.options.report(error) // an attempt that cannot be written down is still refused, and counted
      }
    }
    this.writing = undefined
  }
}

function clipped({ operation, reason, principal, scope, sessionId }: Attempt): Attempt {
  const clip = (text: string): string => text.slice(0, fieldLengthMax).toWellFormed()
  return {
    operation: clip(operation),
    reason,
    ...(principal !== undefined && { principal: clip(principal) }),
    ...(scope !== undefined && { scope: clip(scope) }),
    ...(sessionId !== undefined && { sessionId: clip(sessionId) }),
  }
}

/** What counts as a refused attempt: what the caller did, and not what the medium did. */
const refusedCodes: readonly SessionErrorCode[] = [
  ...(['DENIED', 'NOT_FOUND', 'EXISTS', 'CORRUPT', 'FENCED', 'LOCKED', 'BACK_PRESSURE'] as const),
]

export interface FailedAttempt {
  readonly error: unknown
  readonly principal?: Principal
  /** Whatever the caller gave as one. */
  readonly scope: unknown
}

/** Counts an attempt that failed, if it was refused. */
export function noteRefusal(
  refusals: Refusals,
  operation: string,
  { error, principal, scope }: FailedAttempt,
): void {
  const reason = reasonOf(error)
  if (reason === undefined || !isSessionError(error) || !refusedCodes.includes(error.code)) return
  refusals.record({
    operation,
    reason,
    ...(principal && { principal: principal.id }),
    ...(typeof scope === 'string' && { scope }),
  })
}
