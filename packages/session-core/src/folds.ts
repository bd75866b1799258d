import { openBrackets, type BracketState, type OpenBracket } from './bracket.ts'
import type { Bracket, Projection, ProjectionContext } from './definition.ts'
import { SessionError } from './errors.ts'
import type { SessionHeader } from './event.ts'
import type { SessionLog } from './log.ts'
import type { AnyProjection, Vocabulary } from './vocabulary.ts'

/** Folded states that a fork starts with. */
export type FoldSeed = ReadonlyMap<AnyProjection, Fold>

interface Fold {
  readonly state: unknown
  /** The next seq to apply. */
  readonly next: number
  /** The age of the vocabulary that the state rests on; none when it does not ask the vocabulary. */
  readonly age: number | undefined
}

/**
 * The projections of one log, each folded as far as somebody has asked.
 *
 * 1. A state that was read covers the whole log.
 * 2. A state that rests on the vocabulary is folded anew when types in the log are explained later, so that a session
 *    which was there before a plugin derives what one does that comes after it.
 * 3. A projection that throws fails alone, at the same event each time.
 */
export class Folds {
  private readonly folds = new WeakMap<AnyProjection, Fold>()
  private readonly context: ProjectionContext
  private readonly vocabulary: Vocabulary
  private consulted = false

  constructor(
    header: SessionHeader,
    private readonly log: SessionLog,
    { vocabulary, seed }: { vocabulary: Vocabulary; seed?: FoldSeed | undefined },
  ) {
    this.vocabulary = vocabulary
    for (const [projection, fold] of seed ?? []) this.folds.set(projection, fold)
    this.context = {
      header,
      event: (type) => this.consult().event(type),
      bracket: (name) => this.consult().bracket(name),
      brackets: (type) => this.consult().bracketsOf(type),
    }
  }

  /** @throws SessionError `PROJECTION_FAILED` naming the projection and the seq. */
  read<State>(projection: Projection<State>): State {
    const known = this.current(projection)
    let state = known ? (known.state as State) : projection.init()
    const from = known?.next ?? 0
    if (known && from === this.log.length) return state
    this.consulted = known?.age !== undefined
    for (const event of this.log.range(from)) {
      try {
        state = projection.apply(state, event, this.context)
      } catch (cause) {
        this.keep(projection, { state, next: event.seq, age: known?.age })
        throw failed(projection.name, event.seq, cause)
      }
    }
    this.keep(projection, { state, next: this.log.length, age: known?.age })
    return state
  }

  bracketState(bracket: Bracket): BracketState {
    return this.read(this.vocabulary.projectionOf(bracket))
  }

  open(bracket: Bracket): readonly OpenBracket[] {
    return openBrackets(bracket, this.bracketState(bracket))
  }

  /** The states that hold for the log up to `through`, for a fork cut there. */
  upTo(through: number): FoldSeed {
    const shared = new Map<AnyProjection, Fold>()
    for (const projection of this.vocabulary.allProjections()) {
      const fold = this.folds.get(projection)
      if (fold && fold.next <= through + 1) shared.set(projection, fold)
    }
    return shared
  }

  private keep(projection: AnyProjection, fold: Fold): void {
    const age = this.consulted ? (fold.age ?? this.vocabulary.age) : undefined
    this.folds.set(projection, { ...fold, age })
  }

  private consult(): Vocabulary {
    this.consulted = true
    return this.vocabulary
  }

  private current(projection: AnyProjection): Fold | undefined {
    const fold = this.folds.get(projection)
    const { age } = this.vocabulary
    if (fold?.age === undefined || fold.age === age) return fold
    switch (this.vocabulary.newsSince(fold.age, [...this.log.types.keys()])) {
      case 'some':
        return undefined
      case 'withheld':
        return fold
      case 'none':
        this.folds.set(projection, { ...fold, age })
        return this.folds.get(projection)
    }
  }
}

function failed(name: string, seq: number, cause: unknown): SessionError {
  return new SessionError('PROJECTION_FAILED', `projection ${name} threw at seq ${seq}; the log is intact`, {
    seq,
    name,
    cause,
  })
}
