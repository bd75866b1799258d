import type { ExpectStatic } from 'vitest'
import type { SessionStorage } from '../../storage.ts'

/** One place to keep sessions, opened as often as a test wants. */
export interface Place {
  /** A storage on this place; where processes share it, a second one is as good as another process. */
  open(): SessionStorage
}

/** What a fact is shown on: an empty place, and a storage that is opened there. */
export interface Scene {
  readonly place: Place
  readonly storage: SessionStorage
  readonly expect: ExpectStatic
}

export type Fact = (scene: Scene) => Promise<void>

/** What a storage promises, by the sentence that says it. */
export type Facts = Readonly<Record<string, Fact>>
