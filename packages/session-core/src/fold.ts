import { bracketStatePrefix } from './bracket.ts'
import type { Bracket } from './definition.ts'
import { deepFreeze, type JsonValue } from './json.ts'
import type { SessionLog } from './log.ts'
import type { ProjectionSnapshot } from './snapshot.ts'
import { isToldStill, type Told } from './told.ts'
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

export interface Resting {
  /** That of the vocabulary when it was first asked, or last compared. */
  readonly age: number
  readonly told: Told
}

export function snapshotOf(version: number, { state, next, rests }: Fold): ProjectionSnapshot {
  return { version, seq: next - 1, state, ...(rests && { told: Object.fromEntries(rests.told) }) }
}

export function toldIn({ told }: ProjectionSnapshot): Told | undefined {
  return told && new Map(Object.entries(told))
}

/** `undefined` when it would be folded otherwise now. Its state is looked at when somebody reads it. */
export function foldOf(snapshot: ProjectionSnapshot, vocabulary: Vocabulary): Fold | undefined {
  const { seq } = snapshot
  const told = toldIn(snapshot)
  if (!isToldStill(told, vocabulary)) return undefined
  const rests = told && { age: vocabulary.age, told }
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
