import {
  SessionError,
  isSessionError,
  type Projection,
  type Session,
  type Sessions,
  type TranscriptMessage,
} from '@tidemark/session-core'
import type { CompactEnd, CompactStart, CompactSummary } from './event.ts'
import { overBudget } from './budget.ts'
import { carriedBy } from './carried.ts'
import type { FactsState } from './fact.ts'
import { hasEnded } from './ground.ts'
import { faultOf } from './fault.ts'
import { judgeText, type Ending, type SummaryBounds } from './judge.ts'
import { refuseTooLarge, type FactBounds } from './pin.ts'
import { replacing } from './replacement.ts'
import type { CompactionResult } from './result.ts'
import type { Summarizer, SummaryRequest } from './summarizer.ts'
import { summaryAuthorOf } from './summary-author.ts'
import { recordEnd } from './record-end.ts'
import { messagesTokens } from './token-count.ts'
import type { Tokenizer } from './tokenizer.ts'
import { messagesAfter, recorded, verdictOf, type FactsVerdict } from './verdict.ts'

export interface Task {
  readonly start: CompactStart
  readonly ask: {
    readonly summarizer: Summarizer
    readonly messages: SummaryRequest['messages']
    readonly timeoutMs: number
    /** The caller's. */
    readonly signal: AbortSignal | undefined
  }
  readonly summaryBounds: SummaryBounds
  readonly factBounds: FactBounds
  readonly facts: Projection<FactsState>
  readonly vocabulary: Sessions['vocabulary']
  readonly fit?: Fit
}

/** What the result has to fit, together with the messages that stayed when it was planned. */
export interface Fit {
  readonly tokenizer: Tokenizer
  readonly contextTokensMax: number
  readonly retained: number
}

/**
 * One compaction from its start to its end.
 *
 * 1. It ends once, in one synchronous step; what comes later changes nothing.
 * 2. When it has ended no timer and no listener of it is left, and `result` is settled.
 */
export class Run {
  readonly result: Promise<CompactionResult>
  private resolve!: (result: CompactionResult) => void
  private reject!: (reason: unknown) => void
  private readonly stop = new AbortController()
  private readonly onAbort = (): void => this.cancel('ABORTED')
  private timer: ReturnType<typeof setTimeout> | undefined
  private ended = false
  private left: CompactEnd | undefined
  private startSeq = -1

  constructor(
    private readonly session: Session,
    private readonly task: Task,
    /** Called once, when the run is over; `left` is an end that the session did not take. */
    private readonly over: (left: CompactEnd | undefined) => void,
  ) {
    this.result = new Promise((resolve, reject) => {
      this.resolve = resolve
      this.reject = reject
    })
  }

  /** Records the start, then asks. Throws what the append of the start throws; then nothing has begun. */
  start(): void {
    // Whoever hears of the start may end it already, and then asks where it stands.
    this.startSeq = this.session.log.length
    this.session.append('compact/start', this.task.start)
    // Whoever heard of the start may have ended it already.
    if (this.ended) return
    try {
      this.await()
    } catch (cause) {
      this.end({ kind: 'failed', code: 'START_FAILED', cause })
    }
  }

  /** The signal is foreign, and may throw. The listener goes when this run stops. */
  private await(): void {
    const { signal, timeoutMs } = this.task.ask
    if (signal?.aborted) return this.cancel('ABORTED')
    signal?.addEventListener('abort', this.onAbort, { signal: this.stop.signal })
    this.timer = setTimeout(() => this.end({ kind: 'failed', code: 'SUMMARY_TIMEOUT' }), timeoutMs)
    void this.ask()
  }

  cancel(code: 'ABORTED' | 'UNLOADED'): void {
    this.end({ kind: 'cancelled', code })
  }

  /** The session is over: nothing can be recorded, and the boundary of its next lifecycle will say so. */
  drop(): void {
    const { id } = this.session
    this.finish(() => {
      throw new SessionError('DISPOSED', `${id}: the session ended during a compaction`, { sessionId: id })
    })
  }

  private async ask(): Promise<void> {
    const { summarizer, messages } = this.task.ask
    const bounds = this.task.summaryBounds
    const sizeBytesMax = Math.min(bounds.sizeBytesMax, bounds.gainSizeBytesMax)
    const { tokens } = bounds
    const tokensMax = tokens && Math.min(tokens.summaryMax, tokens.gainMax)
    const request = { messages, signal: this.stop.signal, sizeBytesMax, ...(tokensMax && { tokensMax }) }
    try {
      const answer = await summarizer.summarize(request)
      this.end(judgeText((answer as { text?: unknown } | undefined)?.text, bounds))
    } catch (cause) {
      this.end({ kind: 'failed', code: 'SUMMARIZER_FAILED', cause })
    }
  }

  private end(ending: Ending): void {
    this.finish(() => this.record(ending))
  }

  private finish(settle: () => CompactionResult): void {
    if (this.ended) return
    this.ended = true
    clearTimeout(this.timer)
    this.stop.abort()
    try {
      this.resolve(settle())
    } catch (cause) {
      this.reject(cause)
    }
    this.over(this.left)
  }

  private record(ending: Ending): CompactionResult {
    if (ending.kind !== 'summary') return this.recordUnapplied(ending)
    try {
      return this.apply(ending.text)
    } catch (cause) {
      const code = isSessionError(cause) && cause.code === 'PINS_TOO_LARGE' ? cause.code : 'SUMMARY_REFUSED'
      return this.recordUnapplied({ kind: 'failed', code, cause })
    }
  }

  /** Whoever hears of the summary may append before the end: what came after it is looked at anew. */
  private apply(text: string): CompactionResult {
    const { id, range } = this.task.start
    const { facts } = this.session.read(this.task.facts)
    refuseTooLarge(facts, this.task.factBounds)
    const author = summaryAuthorOf(this.task.ask.messages)
    const summary = { id, text, author, ...carriedBy(facts, range.from, hasEnded(this.session)) }
    this.refuseUnfit(summary)
    const kept = this.session.append('compact/summary', summary)
    const end = { id, outcome: 'applied' } as const
    const after = messagesAfter(this.session, { type: 'compact/end', data: end }, this.task.vocabulary)
    const before = this.session.messages()
    const code = faultOf(kept.data, { before, after, range, bounds: this.task.summaryBounds })
    if (code !== undefined) return this.recordUnapplied({ kind: 'failed', code })
    this.refuseUnfit(kept.data) // a redaction may have made it longer
    const told = this.told(after, kept.seq)
    const { seq } = this.session.append('compact/end', { ...end, ...told })
    const verdict = this.verdict(this.session.messages(), kept.seq)
    const { isOverContext } = told
    return { outcome: 'applied', id, range, seq, facts: verdict, ...(isOverContext && { isOverContext }) }
  }

  /** What the transcript comes to, with all that was appended meanwhile, for who reads the log later. */
  private told(
    after: readonly TranscriptMessage[],
    summarySeq: number,
  ): Pick<CompactEnd, 'facts' | 'tokens' | 'isOverContext'> {
    const { fit } = this.task
    const inForce = this.session.read(this.task.facts).facts
    const facts = recorded(verdictOf(inForce, after, summarySeq), inForce)
    if (fit === undefined) return { facts }
    const tokens = messagesTokens(after, fit.tokenizer)
    return { facts, tokens, ...(tokens > fit.contextTokensMax && { isOverContext: true }) }
  }

  private verdict(messages: readonly TranscriptMessage[], summarySeq: number): FactsVerdict {
    return verdictOf(this.session.read(this.task.facts).facts, messages, summarySeq)
  }

  /** What was pinned while the summary was made may leave too little room for it. */
  private refuseUnfit(summary: CompactSummary): void {
    const { fit } = this.task
    if (fit === undefined) return
    const tokens = messagesTokens(replacing(summary), fit.tokenizer)
    if (fit.retained + tokens <= fit.contextTokensMax) return
    throw overBudget(
      summary.facts.map(({ key }) => key),
      tokens,
      fit.contextTokensMax,
    )
  }

  private recordUnapplied(ending: Exclude<Ending, { kind: 'summary' }>): CompactionResult {
    const { kind: outcome, ...error } = ending
    const { id } = this.task.start
    this.left = { id, outcome, error: { code: error.code } }
    recordEnd(this.session, this.left, this.startSeq)
    this.left = undefined
    return { outcome, id, error }
  }
}
