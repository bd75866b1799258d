import { SessionError, type Session, type SessionView, type Sessions } from '@tidemark/session-core'
import type { Settings } from './config.ts'
import type { SeqRange } from './event.ts'
import type { CompactionHost } from './host.ts'
import { facts, type PinnedFact } from './fact.ts'
import { readGround } from './ground.ts'
import { decidePin, refuseTooLarge, type PinInput } from './pin.ts'
import { decidePlan, type CompactionPlan } from './plan.ts'
import type { CompactionResult } from './result.ts'
import type { Runs } from './runs.ts'
import { nameLengthMax } from './schemas.ts'
import type { Summarizer } from './summarizer.ts'

export interface PlanOptions {
  /** Default: everything before the retained messages. */
  readonly range?: SeqRange
  /** Default: the plugin's setting. Not used where a range is given. */
  readonly retainMessages?: number
}

export interface CompactOptions extends PlanOptions {
  /** Cancels the compaction; that is recorded, and is no error. */
  readonly signal?: AbortSignal
  /** Default: the plugin's setting. */
  readonly summarizer?: Summarizer
}

/** Bounded context: `ctx.compaction`. */
export class Compaction {
  constructor(
    /** That of whoever calls. */
    protected readonly ctx: CompactionHost,
    private readonly config: Settings,
    private readonly own: { readonly sessions: Sessions; readonly runs: Runs },
  ) {}

  /**
   * Replaces what the model sees of a range by the pinned facts and a summary. Appends may go on meanwhile.
   *
   * Rejects with a SessionError: `BUSY` while another one is live, `INVALID_SEQ` for a range that cuts,
   * `PINS_TOO_LARGE`, `DISPOSED`, and whatever the session refuses an event with. A summary that cannot be had is a
   * result, and recorded.
   */
  compact(session: Session, options: CompactOptions = {}): Promise<CompactionResult> {
    try {
      return this.begin(session, options)
    } catch (error) {
      return rejected(error)
    }
  }

  /**
   * What `compact` would replace now. Writes nothing.
   * @throws SessionError `INVALID_SEQ` for a range that cuts; `details.seq` is the nearest place that does not.
   */
  plan(session: SessionView, { range, retainMessages }: PlanOptions = {}): CompactionPlan {
    const { vocabulary } = this.own.sessions
    const ground = readGround(session, (type) => vocabulary.bracketsOf(type))
    return decidePlan(ground, { range, retainMessages: retainMessages ?? this.config.retainMessages })
  }

  /** The facts in force, oldest pin first. */
  facts(session: SessionView): readonly PinnedFact[] {
    return session.read(facts)
  }

  /**
   * Shows a fact to the model from now on, verbatim, until it is unpinned or its key is pinned anew.
   * @throws SessionError `INVALID_EVENT`, `INVALID_SEQ`, `PINS_TOO_LARGE`; nothing was pinned.
   */
  pin(session: Session, input: PinInput): PinnedFact {
    const decision = decidePin(session.read(facts), { ...input, by: input.by ?? this.caller }, this.config)
    if (decision.kind === 'known') return decision.fact
    const { sourceSeq = -1 } = decision.data
    if (sourceSeq >= session.log.length) {
      throw new SessionError(
        'INVALID_SEQ',
        `no event at ${sourceSeq} to take a fact from; nothing was pinned`,
      )
    }
    const { seq, data } = session.append('fact/pinned', decision.data)
    return Object.freeze({ ...data, seq })
  }

  /** Ends a fact. False when no fact has this key; then nothing was recorded. */
  unpin(session: Session, key: string, { by = this.caller }: { readonly by?: string } = {}): boolean {
    if (!session.read(facts).some((fact) => fact.key === key)) return false
    session.append('fact/unpinned', { key, by })
    return true
  }

  private get caller(): string {
    return this.ctx.fiber.name.slice(0, nameLengthMax)
  }

  private begin(session: Session, options: CompactOptions): Promise<CompactionResult> {
    const { config, own } = this
    own.runs.refuseBusy(session)
    const plan = this.plan(session, options)
    if (plan.kind === 'nothing') return Promise.resolve({ outcome: 'nothing' })
    refuseTooLarge(session.read(facts), config)
    const { summarizer = config.summarizer, signal } = options
    const { range, messages, gainSizeBytesMax } = plan
    const { summarySizeBytesMax, summaryTimeoutMs } = config
    return own.runs.begin(session, {
      start: { id: globalThis.crypto.randomUUID(), trigger: 'manual', range },
      ask: { summarizer, messages, signal, timeoutMs: summaryTimeoutMs },
      summaryBounds: { sizeBytesMax: summarySizeBytesMax, gainSizeBytesMax },
      factBounds: config,
    })
  }
}

async function rejected(error: unknown): Promise<never> {
  throw error
}
