import type { OpenBracket } from './bracket.ts'
import type { BracketSpan } from './bracket-span.ts'
import type { Bracket, Projection } from './definition.ts'
import { isSessionError } from './errors.ts'
import type { SessionEvent, SessionHeader } from './event.ts'
import type { Folds } from './folds.ts'
import {
  historyCountMax,
  historySizeBytesMax,
  historyTerms,
  pageOf,
  PageBuilder,
  type HistoryPage,
  type HistoryRequest,
  type HistorySource,
  type HistoryTerms,
} from './history.ts'
import { notLoaded, readOnly, refuseOutside, type EventLog, type SessionLog } from './log.ts'
import { readHistory, SessionSeed, type SeedRules } from './seed.ts'
import type { SessionSnapshot } from './snapshot.ts'
import { lastBoundary } from './last-boundary.ts'
import { messagesOf } from './transcript/render.ts'
import type { TranscriptMessage } from './transcript/message.ts'
import { transcript } from './transcript/transcript.ts'
import type { AnyProjection } from './vocabulary.ts'

/** A session as something to read: a stored one, or a live one's read side. Reading writes nothing. */
export class SessionView {
  readonly log: SessionLog
  protected readonly folds: Folds
  private readonly past: Past | undefined
  /** Whether the log may go on after what is shown of it. */
  readonly isPart: boolean

  constructor(
    readonly header: SessionHeader,
    protected readonly events: EventLog,
    { folds, past, isPart = false }: ViewTerms,
  ) {
    this.isPart = isPart
    this.folds = folds
    this.past = past
    this.log = readOnly(events)
  }

  get id(): string {
    return this.header.id
  }

  /** What came before it was inherited; `undefined` in a session that has no boundary. */
  get boundarySeq(): number | undefined {
    return this.read(lastBoundary)
  }

  /**
   * The state of a projection over the whole log. Folds only what was appended since it was last read.
   * @throws SessionError `PROJECTION_FAILED`; `NOT_LOADED` when it would need events that are not in memory.
   */
  read<State>(projection: Projection<State>): State {
    return this.folds.read(projection)
  }

  /**
   * Folds a projection, or the state of a bracket, over the events that are not in memory, once: afterwards `read` and
   * `open` answer. For one that was defined too late, or whose version changed. Nothing else waits for it.
   * @throws SessionError `PROJECTION_FAILED`, `NOT_LOADED` (nobody stores this session), and what reading it meets.
   */
  async load<State>(what: Projection<State> | Bracket): Promise<void> {
    const projection = 'open' in what ? this.folds.projectionOf(what) : what
    await this.folds.load(projection, (from, through) => this.pages(from, through))
  }

  /**
   * Loads every projection and bracket that is defined and is not loaded, but for the projections of these names. What
   * throws keeps no other from it.
   */
  async loadAll({ except }: { readonly except?: ReadonlySet<string> } = {}): Promise<void> {
    for (const projection of this.folds.notLoadedYet()) {
      if (except?.has(projection.name)) continue
      try {
        await this.load(projection)
      } catch (error) {
        if (!isSessionError(error) || error.code !== 'PROJECTION_FAILED') throw error
      }
    }
  }

  /**
   * A page of the log's events: those in memory, and those that are stored only.
   * @throws SessionError `INVALID_SEQ`, `NOT_LOADED` (nobody stores this session), and what reading it meets.
   */
  async history(request: HistoryRequest = {}): Promise<HistoryPage> {
    const terms = historyTerms(request, this.events.length)
    const { base } = this.events
    const { from, through, order } = terms
    if (from >= base) return pageOf(eventsIn(this.events, terms), terms)
    const isBelow = order === 'forward' || through < base
    if (isBelow) return pageOf(await this.stored({ ...terms, through: Math.min(through, base - 1) }), terms)
    return pageOf(eventsIn(this.events, { ...terms, from: base }), terms)
  }

  /** What is open of a bracket, orphaned ones first, and whether it is live. Costs what is open, not what was. */
  open(bracket: Bracket): readonly OpenBracket[] {
    return this.folds.open(bracket)
  }

  /** Where an indivisible bracket stood, each from its opening to its close, oldest first; none of any other. */
  spans(bracket: Bracket): readonly BracketSpan[] {
    return this.folds.spans(bracket)
  }

  /** What the model sees. */
  messages(): readonly TranscriptMessage[] {
    return messagesOf(this.read(transcript))
  }

  /**
   * This log up to and including `through`, to seed a fork with. Nothing is copied.
   * @throws SessionError `INVALID_SEQ` unless `through` is a seq of this log; `NOT_LOADED` when it was let go of, or
   * the states there were: a stored session is forked by its storage.
   */
  seed(through: number = this.log.length - 1): SessionSeed {
    if (through !== -1 || this.log.length > 0) refuseOutside(through, this.log.length)
    const { base } = this.events
    if (through < base - 1) throw notLoaded(through, base)
    const folds = this.folds.upTo(through)
    if (base > 0 && !folds.has(transcript)) throw notLoaded(through, base)
    const source = this.isPart ? 'unreadable' : this
    const restored = this.folds.restoredUpTo(through)
    const origin = { forkedAt: this.header.forkedAt, restored, source } as const
    return new SessionSeed(this.events.view().upTo(through), folds, origin)
  }

  /**
   * Every projection's state at the end of the log, as plain data. For storages: it stands for the log only once that
   * is durable.
   */
  snapshot(): SessionSnapshot {
    this.folds.advanceAll()
    const { length } = this.events
    return { seq: length - 1, types: [...this.events.view().uses()], projections: this.folds.states() }
  }

  /** Called before nobody defines these projections any more: the next snapshot of a stored log has them all the same. */
  keepStates(projections: readonly AnyProjection[]): void {
    if (this.past) this.folds.keepStates(projections)
  }

  /** The projections that have a state, by name, and their versions. For storages: it folds nothing. */
  foldedVersions(): ReadonlyMap<string, number> {
    return this.folds.versions()
  }

  private async *pages(from: number, through: number): AsyncGenerator<readonly SessionEvent[], void> {
    const bounds = { countMax: historyCountMax, sizeBytesMax: historySizeBytesMax, order: 'forward' } as const
    for (let next = from; next <= through;) {
      const events = await this.stored({ ...bounds, from: next, through })
      yield events
      next += events.length
    }
  }

  private async stored(terms: HistoryTerms): Promise<readonly SessionEvent[]> {
    if (this.past === undefined) throw notLoaded(terms.from, this.events.base)
    const events = await this.past.source.page(terms)
    const first = events[0]?.seq ?? -1
    const isWanted = terms.order === 'forward' ? first === terms.from : events.at(-1)?.seq === terms.through
    if (!isWanted) throw notLoaded(terms.from, this.events.base)
    return readHistory(events, first, this.past.rules)
  }
}

interface ViewTerms {
  readonly folds: Folds
  readonly past?: Past | undefined
  readonly isPart?: boolean | undefined
}

/** What a view needs to read events that it does not hold. */
interface Past {
  readonly source: HistorySource
  readonly rules: SeedRules
}

function eventsIn(log: EventLog, { from, through, order, ...bounds }: HistoryTerms): readonly SessionEvent[] {
  const page = new PageBuilder<SessionEvent>(bounds)
  const sizeOf = (event: SessionEvent): number => JSON.stringify(event).length
  if (order === 'forward') {
    for (const event of log.range(from, through)) if (!page.add(event, sizeOf(event))) break
    return page.found
  }
  for (let seq = through; seq >= from && page.add(log.at(seq), sizeOf(log.at(seq))); seq--);
  return [...page.found].reverse()
}
