import type { ExpectStatic } from 'vitest'
import type { ContinuityStore } from '../store.ts'

/** One place to keep continuity, opened as often as a test wants. */
export interface StorePlace {
  /** A store on this place; where processes share it, a second one is as good as another process. */
  open(): ContinuityStore
}

/** What a fact is shown on: an empty place, two stores that are opened there, and the id that they bear. */
export interface Scene {
  readonly store: ContinuityStore
  readonly other: ContinuityStore
  readonly storeId: string
  readonly expect: ExpectStatic
}

export type Fact = (scene: Scene) => Promise<void>

/** What a store promises, by the sentence that says it. */
export type Facts = Readonly<Record<string, Fact>>

/** So many at once. */
export const crowd = 8

/** Scopes that a store may not take for one another. */
export const scopesApart: readonly string[] = [
  ...['a-b', 'a/b', 'a_b', 'a.b', 'A-B', '..', 'é', 'e\u0301', '甲乙', ' '],
  'x'.repeat(200),
  `${'x'.repeat(199)}y`,
]
