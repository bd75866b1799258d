import { assert } from './errors.ts'
import type { AnySessionEvent, SessionHeader } from './event.ts'
import { Folds } from './folds.ts'
import { EventLog } from './log.ts'
import { grown, type SeedRules } from './seed.ts'
import type { ReplayOptions } from './session-options.ts'
import { SessionView } from './view.ts'
import type { Vocabulary } from './vocabulary.ts'

/** Events after which what need not stay is folded and let go of. */
const foldEvery = 8_192

/**
 * A stored log on its way into memory.
 *
 * 1. What was pushed is in the view's log, or folded into its states and let go of.
 * 2. A push that throws adds nothing.
 */
export class Replay {
  readonly view: SessionView
  private readonly log: EventLog
  private readonly folds: Folds
  private readonly rules: SeedRules
  private readonly retainEvents: number
  private foldedLength: number

  /** @throws SessionError `UNKNOWN_TYPE` for what the snapshot says was used. */
  constructor(header: SessionHeader, vocabulary: Vocabulary, options: ReplayOptions) {
    const { snapshot, carry = [], history, retainEvents = Infinity } = options
    const { from = (snapshot?.seq ?? -1) + 1 } = options
    assert(from <= (snapshot?.seq ?? -1) + 1, 'a snapshot stands for what is before the first event')
    this.rules = { vocabulary, carry: new Set(carry), forkedAt: header.forkedAt }
    for (const use of snapshot?.types ?? []) vocabulary.refuseUnknown(use, this.rules.carry)
    this.log = new EventLog(snapshot && { base: from, types: snapshot.types })
    this.folds = new Folds(header, this.log, { vocabulary, restored: snapshot?.projections })
    const past = history && { source: history, rules: this.rules }
    this.view = new SessionView(header, this.log, { folds: this.folds, past })
    this.retainEvents = history ? retainEvents : Infinity
    this.foldedLength = (snapshot?.seq ?? -1) + 1
  }

  /** @throws SessionError `INVALID_SEED` with the seq, `UNKNOWN_TYPE`, `INVALID_PAYLOAD`. */
  push(events: Iterable<AnySessionEvent>): void {
    grown(this.log, events, this.rules)
    if (this.retainEvents === Infinity || this.log.length - this.foldedLength < foldEvery) return
    this.folds.advanceAll()
    this.foldedLength = this.log.length
    this.log.release(this.log.length - this.retainEvents)
  }
}
