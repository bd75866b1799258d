import type { SessionSource } from './beginning.ts'
import type { SessionHeader, SessionRecovered } from './event.ts'
import type { HistorySource } from './history.ts'
import type { JsonObject } from './json.ts'
import type { Recorder } from './recorder.ts'
import type { Redact } from './redact.ts'
import type { RetainBounds } from './retained.ts'
import type { Seed } from './seed.ts'
import type { SessionSnapshot } from './snapshot.ts'

export interface CreateOptions {
  /** Default: a random one. */
  readonly id?: string
  /** Given, even empty, it makes the session a seeded one: `session/resumed` marks where history ends. */
  readonly seed?: Seed
  /** The host's own, kept in the header and frozen with it. */
  readonly meta?: JsonObject
  /** Types in the seed that nobody here knows, to be carried as they are. */
  readonly carry?: readonly string[]
  /** For storages: the header as it was stored. Its id is the session's. */
  readonly header?: SessionHeader
  /** For storages: the writer that this session is bound to for its whole life. */
  readonly recorder?: Recorder
  /** For storages: where the events are that the session does not hold in memory. */
  readonly history?: HistorySource
  readonly incarnation?: string
  /** For storages: the session that the seed was cut from, in whole, where the seed holds a part of it only. */
  readonly source?: SessionSource
  /** For storages: what recoveries found that the seed does not tell yet. */
  readonly recovered?: readonly SessionRecovered[]
}

export interface ViewOptions {
  /** As in `CreateOptions`. */
  readonly carry?: readonly string[]
  readonly history?: HistorySource
}

export interface ForkOptions {
  readonly id?: string
  /** The last seq to inherit. Default: the parent's last. */
  readonly through?: number
  readonly meta?: JsonObject
}

export interface SessionsOptions {
  readonly redact?: Redact | undefined
  readonly now?: (() => number) | undefined
}

export interface ReplayOptions extends ViewOptions {
  /** Stands for the events that are not pushed, and perhaps for some that are. */
  readonly snapshot?: SessionSnapshot | undefined
  /** With a snapshot: the seq of the first event that is pushed, at most the one after it. */
  readonly from?: number
  /** The log may go on after what is pushed: what is seeded with the view comes of something that was not read whole. */
  readonly isPart?: boolean
  /** What stays in memory when not all of it need. Default: everything. */
  readonly retain?: RetainBounds
}
