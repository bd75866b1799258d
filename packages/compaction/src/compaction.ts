import {
  SessionError,
  type Projection,
  type SessionView,
  type HistoryPage,
  type HistoryRequest,
  type Session,
  type Sessions,
} from '@tidemark/session-core'
import { budgetOf, type Budget } from './budget.ts'
import type { Settings } from './config.ts'
import type { CompactionTrigger, SeqRange } from './event.ts'
import type { Bus } from './bus.ts'
import type { CompactionHost } from './host.ts'
import type { FactProblem, FactsState, PinnedFact } from './fact.ts'
import { problemsOf } from './fact-problems.ts'
import { prune, type PruneOptions, type PruneResult } from './prune.ts'
import { recall } from './recall.ts'
import { readStatus, type CompactionStatus } from './status.ts'
import { denied, requireGrant, type FactQuestion } from './grant.ts'
import { readGround } from './ground.ts'
import { decidePin, refuseTooLarge, type PinInput } from './pin.ts'
import { decidePlan, type CompactionPlan } from './plan.ts'
import type { CompactionResult } from './result.ts'
import { nothing, settled } from './settled.ts'
import type { Runs } from './runs.ts'
import { nameLengthMax } from './schemas.ts'
import { refuseBadSignal } from './signal.ts'
import type { Summarizer } from './summarizer.ts'
import { messagesTokens } from './token-count.ts'

export interface PlanOptions {
  /** Default: everything before the retained messages. */
  readonly range?: SeqRange
  /** Default: as the budget in tokens says, or else the plugin's setting. Not used where a range is given. */
  readonly retainMessages?: number
}

export interface CompactOptions extends PlanOptions {
  /** Cancels the compaction; that is recorded, and is no error. */
  readonly signal?: AbortSignal
  /** Default: the plugin's setting. */
  readonly summarizer?: Summarizer
  /** What the log says of who asked. Default: `manual`. */
  readonly trigger?: CompactionTrigger
}

interface Own {
  readonly sessions: Sessions
  readonly runs: Runs
  readonly facts: Projection<FactsState>
  readonly bus: Bus
}

/** Bounded context: `ctx.compaction`. */
export class Compaction {
  private readonly budget: Budget | undefined

  constructor(
    /** That of whoever calls. */
    protected readonly ctx: CompactionHost,
    private readonly config: Settings,
    private readonly own: Own,
  ) {
    this.budget = budgetOf(config)
  }

  /**
   * Replaces what the model sees of a range by the pinned facts and a summary. Appends may go on meanwhile.
   *
   * Rejects with a SessionError: `BUSY` while another one is live, `INVALID_SEQ` for a range that cuts, `INVALID_EVENT`
   * for a bad signal, `PINS_TOO_LARGE`, `DISPOSED`, what the session refuses with. A summary that fails is a result.
   */
  compact(session: Session, options: CompactOptions = {}): Promise<CompactionResult> {
    return settled(() => this.begin(session, options))
  }

  /** Compacts when the transcript takes more than the host's share of the context; else it is `nothing`. */
  maybeCompact(session: Session, options: CompactOptions = {}): Promise<CompactionResult> {
    return settled(() => {
      const { budget } = this
      if (budget === undefined) return nothing('no-budget')
      const isWithin = messagesTokens(session.messages(), budget.tokenizer) <= budget.triggerTokens
      return isWithin ? nothing('within-budget') : this.begin(session, options)
    })
  }

  /**
   * What `compact` would replace now. Writes nothing.
   * @throws SessionError `INVALID_SEQ` for a range that cuts; `details.seq` is the nearest place that does not,
   * `details.bracket` the indivisible bracket that holds it, if one does. `PINS_TOO_LARGE` when the facts do not fit;
   * `details.keys` names them.
   */
  plan(session: SessionView, { range, retainMessages }: PlanOptions = {}): CompactionPlan {
    const { budget, config, own } = this
    const bracketsOf = own.sessions.vocabulary.bracketsOf.bind(own.sessions.vocabulary)
    const ground = readGround(session, { facts: own.facts, bracketsOf })
    const countDefault = budget ? undefined : config.retainMessages
    const plan = decidePlan(ground, { range, retainMessages: retainMessages ?? countDefault, budget })
    if (plan.kind === 'replace') refuseTooLarge(ground.facts, config)
    return plan
  }

  /** How a session stands to its budget, and to the attempts that automatic mode made. */
  status(session: SessionView): CompactionStatus {
    return readStatus(session, this.config).status
  }

  /** Resolves when no compaction is running here in this session, however it ended. Never rejects. */
  idle(session: Session): Promise<void> {
    return this.own.runs.idle(session)
  }

  /**
   * A page of the events that a compaction replaced, inner compactions with their own events. `next` of a page asks
   * for the one after it.
   *
   * Rejects with a SessionError: `NOT_FOUND` unless the log tells that it was applied, `INVALID_SEQ`, and what reading
   * stored events meets.
   */
  recall(session: SessionView, compactionId: string, request: HistoryRequest = {}): Promise<HistoryPage> {
    return recall(session, compactionId, request)
  }

  /**
   * Shows only the beginning and the end of large results of tools, all but the newest. The log keeps them whole.
   * Rejects with a SessionError: `INVALID_EVENT`, and what the session refuses an event with.
   */
  prune(session: Session, options: PruneOptions = {}): Promise<PruneResult> {
    const { pruneResultsSizeBytes } = this.config
    const own = pruneResultsSizeBytes === undefined ? {} : { resultSizeBytesMax: pruneResultsSizeBytes }
    return prune(session, { ...own, ...options })
  }

  /** The facts in force, oldest first: those that were pinned, and the lines that a person labelled. */
  facts(session: SessionView): readonly PinnedFact[] {
    return session.read(this.own.facts).facts
  }

  /** What was meant as a fact and is not in force, or not as it was meant, oldest first; the newest 32. */
  problems(session: SessionView): readonly FactProblem[] {
    return problemsOf(session.read(this.own.facts), this.config).problems
  }

  /** How many there are in all, those that are not listed any more included. */
  problemCount(session: SessionView): number {
    return problemsOf(session.read(this.own.facts), this.config).problemCount
  }

  /**
   * Shows a fact to the model from now on, verbatim, until it is unpinned or its key is pinned anew.
   * @throws SessionError `INVALID_EVENT`, `INVALID_SEQ`, `PINS_TOO_LARGE`; nothing was pinned.
   */
  pin(session: Session, input: PinInput): PinnedFact {
    const decision = decidePin(this.facts(session), { ...input, by: input.by ?? this.caller }, this.config)
    if (decision.kind === 'known') return decision.fact
    const { sourceSeq = -1 } = decision.data
    if (sourceSeq >= session.log.length) {
      throw new SessionError(
        'INVALID_SEQ',
        `no event at ${sourceSeq} to take a fact from; nothing was pinned`,
      )
    }
    const { seq, data } = session.append('fact/pinned', decision.data)
    return Object.freeze({ ...data, seq, from: 'pin' })
  }

  /** Ends a fact, however it was pinned. False when none has this key; then nothing was recorded. */
  unpin(session: Session, key: string, { by = this.caller }: { readonly by?: string } = {}): boolean {
    const fact = this.facts(session).find((each) => each.key === key)
    if (fact === undefined) return false
    session.append('fact/unpinned', { key, by, ...(fact.from === 'label' && { text: fact.text }) })
    return true
  }

  /**
   * Pins what a model asks for, once the bus says yes (`tidemark/authorize-fact`). Where nobody answers, only the
   * plugin that made the session may ask.
   *
   * Rejects with a SessionError: `DENIED`, and whatever `pin` throws; nothing was pinned.
   */
  async requestPin(session: Session, input: Omit<PinInput, 'by'>): Promise<PinnedFact> {
    // Whatever a caller adds: it is a model that asks.
    const asked = { ...input, by: this.modelCaller }
    const decision = decidePin(this.facts(session), asked, this.config)
    if (decision.kind === 'known') return decision.fact
    const { digest: _digest, ...wish } = decision.data
    await this.require(session, { operation: 'pin', ...wish })
    return this.pin(session, { ...asked, key: wish.key })
  }

  /** Ends a fact as a model asks, on the same terms. False when none has this key; then nobody was asked. */
  async requestUnpin(session: Session, key: string): Promise<boolean> {
    if (!this.facts(session).some((fact) => fact.key === key)) return false
    const by = this.modelCaller
    await this.require(session, { operation: 'unpin', key, by })
    return this.unpin(session, key, { by })
  }

  /** What was allowed is what is in force when the answer comes. */
  private async require(
    session: Session,
    wish: Pick<FactQuestion, 'operation' | 'key' | 'text' | 'by' | 'sourceSeq'>,
  ): Promise<void> {
    const inForce = (): string | undefined => this.facts(session).find(({ key }) => key === wish.key)?.text
    const textInForce = inForce()
    const { sessions, bus } = this.own
    const question: FactQuestion = {
      session,
      ...wish,
      ...(textInForce !== undefined && { textInForce }),
      through: this.caller,
    }
    await requireGrant(question, bus, sessions.isOwnedBy(session, this.ctx.fiber))
    if (inForce() !== textInForce) throw denied(question)
  }

  private get modelCaller(): string {
    return `a model, through ${this.ctx.fiber.name}`.slice(0, nameLengthMax)
  }

  private get caller(): string {
    return this.ctx.fiber.name.slice(0, nameLengthMax)
  }

  private begin(session: Session, options: CompactOptions): Promise<CompactionResult> {
    const { budget, config, own } = this
    refuseBadSignal(options.signal)
    own.runs.refuseBusy(session)
    const plan = this.plan(session, options)
    if (plan.kind === 'nothing') return nothing(plan.reason)
    const { summarizer = config.summarizer, signal, trigger = 'manual' } = options
    const { range, messages, gainSizeBytesMax, tokens } = plan
    const { summarySizeBytesMax, summaryTimeoutMs } = config
    const counted = budget && tokens && { ...budget, ...tokens }
    return own.runs.begin(session, {
      start: { id: globalThis.crypto.randomUUID(), trigger, range, ...(tokens && { tokens: tokens.now }) },
      ask: { summarizer, messages, signal, timeoutMs: summaryTimeoutMs },
      summaryBounds: {
        sizeBytesMax: summarySizeBytesMax,
        gainSizeBytesMax: counted ? summarySizeBytesMax : gainSizeBytesMax,
        ...(counted && { tokens: counted }),
      },
      factBounds: config,
      facts: own.facts,
      vocabulary: own.sessions.vocabulary,
      ...(counted && { fit: counted }),
    })
  }
}
