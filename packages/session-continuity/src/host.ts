import type { Host, Session } from '@tidemark/session-core'
import type { BoundHeader } from './session-header.ts'

/**
 * What `tidemark/authorize` asks. The headers are what a store that has them at hand may add: then nothing is read for
 * the answer.
 */
export interface AuthorizeQuestion {
  readonly operation: string
  readonly sessionId: string
  /** The session that is to be, in a fork or a salvage. */
  readonly childId?: string
  /** Of the session that is going to be opened, where one is. */
  readonly incarnation?: string
  readonly as: unknown
  /** Of the session as it is stored; in a `create`, as it is to be. */
  readonly header?: BoundHeader
  readonly childHeader?: BoundHeader
  readonly allow: () => void
  readonly deny: () => void
}

/** The part of a cordis 4 context that continuity uses. */
export interface ContinuityHost extends Host {
  inject(services: readonly string[], callback: (ctx: ContinuityHost) => void): unknown
  on(event: 'tidemark/authorize', listener: (question: AuthorizeQuestion) => Promise<void>): () => unknown
  on(event: 'tidemark/disposed', listener: (session: Session) => void): () => unknown
}

/** Gives the header of a stored session; `undefined` where there is none. */
export type SessionHeaderFunction = (sessionId: string) => Promise<BoundHeader | undefined>
