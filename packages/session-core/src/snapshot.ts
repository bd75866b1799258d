import type { ToldData } from './told.ts'
import type { TypeUse } from './uses.ts'

/** The state of one projection, as plain data. */
export interface ProjectionSnapshot {
  readonly version: number
  /** The last event that was applied, -1 for none. */
  readonly seq: number
  readonly state: unknown
  /** On a state that asked the vocabulary. It is used where the vocabulary tells the same. */
  readonly told?: ToldData
}

export type SnapshotStates = ReadonlyMap<string, ProjectionSnapshot>

/** What stands for the events of a log up to `seq`: a shortcut, never the truth. */
export interface SessionSnapshot {
  readonly seq: number
  /** Every type that the log has used, so that one that nobody knows is noticed without its event. */
  readonly types: readonly TypeUse[]
  /** By name; each with a seq of its own, since not all of them were loaded. */
  readonly projections: SnapshotStates
}
