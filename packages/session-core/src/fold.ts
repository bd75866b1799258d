import { bracketStatePrefix } from './bracket.ts'
import type { Bracket } from './definition.ts'
import { deepFreeze, type JsonValue } from './json.ts'
import type { SessionLog } from './log.ts'
import type { ProjectionSnapshot } from './snapshot.ts'
import type { AnyProjection, Vocabulary } from './vocabulary.ts'

/** A projection's state, and how far it was folded. */
export interface Fold {
  readonly state: unknown
  /** The next seq to apply. */
  readonly next: number
  /** What the state rests on beside the log; none when it does not ask the vocabulary. */
  readonly rests: Resting | undefined
}

/** Folded states that a fork starts with. */
export type FoldSeed = ReadonlyMap<AnyProjection, Fold>

/** What a state was told by the vocabulary. */
export interface Resting {
  readonly age: number
  /** Types it was folded over that nobody explained then. */
  readonly blind: ReadonlySet<string>
}

/** What a state rests on that asked the vocabulary now. */
export function restingNow(before: Resting | undefined, log: SessionLog, vocabulary: Vocabulary): Resting {
  const unexplained = [...log.types.keys()].filter((type) => vocabulary.event(type) === undefined)
  if (before !== undefined && unexplained.every((type) => before.blind.has(type))) return before
  const blind = new Set([...(before?.blind ?? []), ...unexplained])
  return { age: before?.age ?? vocabulary.age, blind }
}

/** Whether something is explained now that was not when a state was folded over it. */
export function isExplained(blind: Iterable<string>, vocabulary: Vocabulary): boolean {
  return [...blind].some((type) => vocabulary.event(type) !== undefined)
}

export function snapshotOf(version: number, { state, next, rests }: Fold): ProjectionSnapshot {
  return { version, seq: next - 1, state, ...(rests && { blind: [...rests.blind] }) }
}

/** `undefined` when it would be folded otherwise now. Its state is looked at when somebody reads it. */
export function foldOf(snapshot: ProjectionSnapshot, vocabulary: Vocabulary): Fold | undefined {
  const { seq, blind } = snapshot
  if (blind && isExplained(blind, vocabulary)) return undefined
  const rests = blind && { age: vocabulary.age, blind: new Set(blind) }
  return new RestoredFold(snapshot, seq + 1, rests)
}

class RestoredFold implements Fold {
  private isFrozen = false

  constructor(
    private readonly snapshot: ProjectionSnapshot,
    readonly next: number,
    readonly rests: Resting | undefined,
  ) {}

  get state(): unknown {
    const { state } = this.snapshot
    if (!this.isFrozen) deepFreeze(state as JsonValue)
    this.isFrozen = true
    return state
  }
}

/** The bracket that a projection is the state of, when none of its types ever came: then nothing of it is open. */
export function unusedBracket(name: string, log: SessionLog, vocabulary: Vocabulary): Bracket | undefined {
  if (!name.startsWith(bracketStatePrefix)) return undefined
  const bracket = vocabulary.bracket(name.slice(bracketStatePrefix.length))
  const types = bracket ? [bracket.open, ...bracket.close, ...bracket.inside] : []
  return types.some((type) => log.types.has(type)) ? undefined : bracket
}
