import { assert } from './errors.ts'
import type { AnySessionEvent, SessionHeader } from './event.ts'
import { Folds } from './folds.ts'
import { EventLog } from './log.ts'
import { Retained, type RetainBounds } from './retained.ts'
import { grown, type SeedRules } from './seed.ts'
import type { ReplayOptions } from './session-options.ts'
import { SessionView } from './view.ts'
import type { Vocabulary } from './vocabulary.ts'

/** Events, and bytes as they are stored, after which what need not stay is folded and let go of. */
const foldEvery = { events: 8_192, sizeBytes: 4_194_304 }

/**
 * A stored log on its way into memory.
 *
 * 1. What was pushed is in the view's log, or folded into its states and let go of.
 * 2. A push that throws adds nothing.
 */
export class Replay {
  readonly view: SessionView
  /** Of what was pushed. */
  readonly retained = new Retained()
  private readonly log: EventLog
  private readonly folds: Folds
  private readonly rules: SeedRules
  private readonly bounds: RetainBounds | undefined
  private foldedLength: number
  private foldedSizeBytes = 0

  /** @throws SessionError `UNKNOWN_TYPE` for what the snapshot says was used. */
  constructor(header: SessionHeader, vocabulary: Vocabulary, options: ReplayOptions) {
    const { snapshot, carry = [], history, retain, isPart } = options
    const { from = (snapshot?.seq ?? -1) + 1 } = options
    assert(from <= (snapshot?.seq ?? -1) + 1, 'a snapshot stands for what is before the first event')
    this.rules = { vocabulary, carry: new Set(carry), forkedAt: header.forkedAt }
    for (const use of snapshot?.types ?? []) vocabulary.refuseUnknown(use, this.rules.carry)
    this.log = new EventLog(snapshot && { base: from, types: snapshot.types })
    this.folds = new Folds(header, this.log, { vocabulary, restored: snapshot?.projections })
    const past = history && { source: history, rules: this.rules }
    this.view = new SessionView(header, this.log, { folds: this.folds, past, isPart })
    this.bounds = history && retain
    this.foldedLength = (snapshot?.seq ?? -1) + 1
  }

  /**
   * `sizeBytes`: what the events take where they are stored, as far as that is known.
   * @throws SessionError `INVALID_SEED` with the seq, `UNKNOWN_TYPE`, `INVALID_PAYLOAD`.
   */
  push(events: Iterable<AnySessionEvent>, sizeBytes = 0): void {
    const { log, retained, bounds } = this
    grown(log, events, this.rules)
    retained.grown(log.length - 1, sizeBytes)
    if (bounds === undefined || !this.isDue) return
    this.folds.advanceAll()
    this.foldedLength = log.length
    this.foldedSizeBytes = retained.sizeBytes
    log.release(retained.from(log.length, bounds))
  }

  private get isDue(): boolean {
    const events = this.log.length - this.foldedLength
    const sizeBytes = this.retained.sizeBytes - this.foldedSizeBytes
    return events >= foldEvery.events || (events > 0 && sizeBytes >= foldEvery.sizeBytes)
  }
}
