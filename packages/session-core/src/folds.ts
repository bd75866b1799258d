import { beginsFork } from './boundary.ts'
import { nothingOpen, openBrackets, type OpenBracket } from './bracket.ts'
import type { BracketSpan, SpannedState } from './bracket-span.ts'
import { turn } from './core.ts'
import type { Bracket, Projection, ProjectionContext } from './definition.ts'
import { SessionError, assert } from './errors.ts'
import type { SessionEvent, SessionHeader } from './event.ts'
import { foldOf, snapshotOf, unusedBracket, type Fold, type FoldSeed, type Resting } from './fold.ts'
import type { SessionLog } from './log.ts'
import type { ProjectionSnapshot, SnapshotStates } from './snapshot.ts'
import { Asking, isOutdone, isToldStill } from './told.ts'
import type { AnyProjection, Vocabulary } from './vocabulary.ts'

/** Reads events that are not in memory, in order. */
export type ReadHistory = (from: number, through: number) => AsyncIterable<readonly SessionEvent[]>

export interface FoldsTerms {
  readonly vocabulary: Vocabulary
  readonly seed?: FoldSeed | undefined
  /** States by name, for projections that are asked for now or later. */
  readonly restored?: SnapshotStates | undefined
}

/**
 * The projections of one log, each folded as far as somebody has asked.
 *
 * 1. A state that was read covers the whole log.
 * 2. A state that rests on the vocabulary is folded anew when types in the log are explained later, so that a session
 *    which was there before a plugin derives what one does that comes after it. What is not explained any more, a
 *    living state keeps; one that begins, from a snapshot or as a fork, is what a fold of all events gives.
 * 3. A projection that throws fails alone, at the same event each time.
 * 4. A state that would need events which are not in memory is not given: `NOT_LOADED`, until `load` has read them.
 */
export class Folds {
  private readonly folds = new WeakMap<AnyProjection, Fold>()
  private readonly loading = new WeakMap<AnyProjection, Promise<void>>()
  private readonly context: ProjectionContext
  private readonly vocabulary: Vocabulary
  /** Those that no projection was asked for yet, or that nobody defines any more. */
  private readonly restored: Map<string, ProjectionSnapshot>
  private asking: Asking

  constructor(
    header: SessionHeader,
    private readonly log: SessionLog,
    { vocabulary, seed, restored = new Map() }: FoldsTerms,
  ) {
    this.vocabulary = vocabulary
    this.asking = new Asking(vocabulary)
    this.restored = new Map(restored)
    for (const [projection, fold] of seed ?? []) this.folds.set(projection, fold)
    this.context = {
      beginsFork: (event) => beginsFork(event, header),
      event: (type) => this.asking.event(type),
      bracket: (name) => this.asking.bracket(name),
      brackets: (type) => this.asking.brackets(type),
    }
  }

  /** @throws SessionError `PROJECTION_FAILED` naming the projection and the seq; `NOT_LOADED`. */
  read<State>(projection: Projection<State>): State {
    const known = this.current(projection)
    const from = known?.next ?? 0
    if (known && from === this.log.length) return known.state as State
    if (from < this.log.base) throw this.notLoaded(projection.name)
    return this.advance(projection, known, this.log.range(from)) as State
  }

  /** Brings a state up to where memory begins, from events that are stored. */
  load(projection: AnyProjection, history: ReadHistory): Promise<void> {
    const loading = this.loading.get(projection) ?? this.loadOnce(projection, history)
    this.loading.set(projection, loading)
    return loading.finally(() => this.loading.delete(projection))
  }

  bracketState(bracket: Bracket): SpannedState {
    return this.read(this.vocabulary.projectionOf(bracket))
  }

  projectionOf(bracket: Bracket): AnyProjection {
    return this.vocabulary.projectionOf(bracket)
  }

  open(bracket: Bracket): readonly OpenBracket[] {
    return openBrackets(bracket, this.bracketState(bracket))
  }

  spans(bracket: Bracket): readonly BracketSpan[] {
    return this.bracketState(bracket).spans ?? []
  }

  /** The states that hold for the log up to `through`, for a fork cut there. */
  upTo(through: number): FoldSeed {
    const shared = new Map<AnyProjection, Fold>()
    for (const [projection, fold] of this.known()) {
      if (fold.next > through + 1) continue
      // Where all events are in memory, the fork can fold anew what only holds here.
      if (this.log.base > 0 || isToldStill(fold.rests?.told, this.vocabulary)) shared.set(projection, fold)
    }
    return shared
  }

  restoredUpTo(through: number): SnapshotStates {
    return new Map([...this.restored].filter(([, { seq }]) => seq <= through))
  }

  /** Folds every projection there is as far as it goes. One that throws, or is not loaded, stays where it is. */
  advanceAll(projections: Iterable<AnyProjection> = this.vocabulary.allProjections()): void {
    for (const projection of projections) {
      try {
        this.read(projection)
      } catch (error) {
        if (!(error instanceof SessionError)) throw error // whoever reads it meets the same
      }
    }
  }

  /** Folds these as far as they go, and keeps the states under their names. */
  keepStates(projections: readonly AnyProjection[]): void {
    this.advanceAll(projections)
    for (const [{ name, version }, fold] of this.known(projections))
      this.restored.set(name, snapshotOf(version, fold))
  }

  /** The projections that are defined and that `read` refuses, since they were defined too late. */
  notLoadedYet(): readonly AnyProjection[] {
    const { base } = this.log
    return [...this.vocabulary.allProjections()].filter((each) => (this.current(each)?.next ?? 0) < base)
  }

  /** The versions of the states that there are, by name. Nothing is folded, and no state is looked at. */
  versions(): ReadonlyMap<string, number> {
    return new Map([...this.known()].map(([{ name, version }]) => [name, version]))
  }

  /** Every state as plain data, by name; those that nobody defines here as they came. */
  states(): SnapshotStates {
    const states = new Map(this.restored)
    for (const [{ name, version }, fold] of this.known()) states.set(name, snapshotOf(version, fold))
    return states
  }

  /** Those of the projections that have a state which holds. */
  private *known(
    projections: Iterable<AnyProjection> = this.vocabulary.allProjections(),
  ): Generator<readonly [AnyProjection, Fold], void> {
    for (const projection of projections) {
      const fold = this.current(projection)
      if (fold) yield [projection, fold]
    }
  }

  private advance(
    projection: AnyProjection,
    known: Fold | undefined,
    events: Iterable<SessionEvent>,
  ): unknown {
    const fold: Fold = known ?? { state: projection.init(), next: 0, rests: undefined }
    this.asking = new Asking(this.vocabulary, fold.rests?.told, projection.asks)
    let { state, next } = fold
    for (const event of events) {
      try {
        state = projection.apply(state, event, this.context)
      } catch (cause) {
        this.keep(projection, { state, next: event.seq }, fold.rests)
        throw failed(projection.name, event.seq, cause)
      }
      next = event.seq + 1
    }
    this.keep(projection, { state, next }, fold.rests)
    return state
  }

  private async loadOnce(projection: AnyProjection, history: ReadHistory): Promise<void> {
    let fold = this.current(projection)
    if (fold === undefined) {
      this.folds.delete(projection) // what was folded before does not hold
      fold = this.current(projection)
    }
    // The log goes on, and lets go of more, while it is read.
    for (let from = fold?.next ?? 0; from < this.log.base; from = fold?.next ?? 0) {
      const { age } = this.vocabulary
      for await (const events of history(from, this.log.base - 1)) {
        this.advance(projection, fold, events)
        fold = this.folds.get(projection)
      }
      assert(fold && fold.next > from, 'history gives what it was asked for')
      if (this.vocabulary.age !== age) fold = this.current(projection)
    }
  }

  private keep(projection: AnyProjection, folded: Omit<Fold, 'rests'>, before: Resting | undefined): void {
    const { told } = this.asking
    const rests = told && { age: before?.age ?? this.vocabulary.age, told }
    this.folds.set(projection, { ...folded, rests })
    this.restored.delete(projection.name) // or the old state would be held for ever
  }

  /** The state that is known and holds. */
  private current(projection: AnyProjection): Fold | undefined {
    const fold = this.folds.get(projection) ?? this.restore(projection)
    const { age } = this.vocabulary
    if (fold?.rests === undefined || fold.rests.age === age) return fold
    const news = this.vocabulary.newsSince(fold.rests.age, [...this.log.types.keys()])
    if (news === 'withheld') return fold
    // What is folded anew needs all events: where they are not in memory, only if it would be told more.
    const isOld = (news === 'some' && this.log.base === 0) || isOutdone(fold.rests.told, this.vocabulary)
    return isOld ? undefined : this.renewed(projection, fold)
  }

  private renewed(projection: AnyProjection, fold: Fold): Fold {
    const rests = fold.rests && { ...fold.rests, age: this.vocabulary.age }
    const { state, next } = fold
    const renewed = { state, next, rests }
    this.folds.set(projection, renewed)
    return renewed
  }

  private restore(projection: AnyProjection): Fold | undefined {
    const found = this.restored.get(projection.name)
    const fold =
      found?.version === projection.version ? foldOf(found, this.vocabulary) : this.derive(projection.name)
    if (fold === undefined) return undefined
    this.restored.delete(projection.name)
    this.folds.set(projection, fold)
    return fold
  }

  /** What a bracket must know of turns beside its own types, the turn's own state tells. */
  private derive(name: string): Fold | undefined {
    const bracket = this.log.base === 0 ? undefined : unusedBracket(name, this.log, this.vocabulary)
    if (bracket === undefined || bracket.name === turn.name) return undefined
    const { turnSeq, stepSeq } = this.bracketState(turn)
    return { state: { ...nothingOpen, turnSeq, stepSeq }, next: this.log.length, rests: undefined }
  }

  private notLoaded(name: string): SessionError {
    const { base } = this.log
    const message = `projection ${name} needs events before ${base}, which are not in memory; load() reads them`
    return new SessionError('NOT_LOADED', message, { name, base })
  }
}

function failed(name: string, seq: number, cause: unknown): SessionError {
  return new SessionError('PROJECTION_FAILED', `projection ${name} threw at seq ${seq}; the log is intact`, {
    seq,
    name,
    cause,
  })
}
