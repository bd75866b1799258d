import type { Principal } from './principal.ts'
import { reasonOf, type ContinuityReason } from './refusal.ts'
import { RefusalRate, type RefusalRateOptions } from './refusal-rate.ts'
import type { RefusalSink } from './store.ts'

/** One line of the log of refused attempts. */
export interface Refused {
  readonly time: number
  readonly operation: string
  readonly reason: ContinuityReason
  readonly principal?: string
  readonly scope?: string
  readonly sessionId?: string
  /** Attempts of this operation, since its line before, that were counted and not written. */
  readonly suppressed: number
}

export type Attempt = Omit<Refused, 'time' | 'suppressed'>

export interface RefusalsOptions extends RefusalRateOptions {
  readonly sink: RefusalSink
  readonly now: () => number
  readonly report: (error: unknown) => void
}

/** UTF-16 code units of what a caller chose, in one field. */
const fieldLengthMax = 200

/**
 * Counts refused attempts, and writes down as many as the rate allows.
 *
 * 1. Every attempt is counted; what is not written is told with the next line of its operation, or at the end;
 *    after `close` nothing is written.
 * 2. Nobody waits for it, and a failure of its medium is nobody else's.
 * 3. It holds at most `burstMax` lines of an operation in memory, of at most `operationsMax`.
 * 4. A flood of one operation keeps no line of another one from being written, nor does that of one principal keep out
 *    another one's of the same operation.
 */
export class Refusals {
  private total = 0
  private readonly rate: RefusalRate
  private waiting: Refused[] = []
  private writing: Promise<void> | undefined
  private isOver = false
  /** Errors that were counted where they came from, and pass whoever asked for it. */
  private readonly noted = new WeakSet<Error>()

  constructor(private readonly options: RefusalsOptions) {
    this.rate = new RefusalRate(options)
  }

  /** Attempts since the service started. */
  get count(): number {
    return this.total
  }

  /** Whether an error was not counted yet: from now on it was. */
  isNews(error: Error): boolean {
    if (this.noted.has(error)) return false
    this.noted.add(error)
    return true
  }

  record(attempt: Attempt): void {
    this.total += 1
    if (this.isOver) return // the sink is closed, or about to be
    const time = this.options.now()
    const line = clipped(attempt)
    const suppressed = this.rate.take(line, time)
    if (suppressed === undefined) return
    if (!this.hasRoomFor(line)) return this.rate.giveUp(line.operation, suppressed)
    this.waiting.push({ ...line, time, suppressed })
    this.writing ??= this.drain()
  }

  /** Writes what waits, and a last line for what was only counted. */
  async close(): Promise<void> {
    this.isOver = true
    const suppressed = this.rate.settle()
    if (suppressed > 0) {
      this.waiting.push({ operation: 'close', reason: 'closed', time: this.options.now(), suppressed })
      this.writing ??= this.drain()
    }
    await this.writing
  }

  /** While the medium is slow: nobody's lines take more room than they leave. */
  private hasRoomFor({ operation, principal }: Attempt): boolean {
    const all = this.waiting.filter((each) => each.operation === operation)
    const own = all.filter((each) => each.principal === principal)
    return own.length < this.options.burstMax - all.length
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

/** What the medium did, or others who are faster; all else that is refused is an attempt of who asked. */
const otherwise: readonly ContinuityReason[] = ['unavailable', 'contended']

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
  if (reason === undefined || otherwise.includes(reason) || !refusals.isNews(error as Error)) return
  refusals.record({
    operation,
    reason,
    ...(principal && { principal: principal.id }),
    ...(typeof scope === 'string' && { scope }),
  })
}
