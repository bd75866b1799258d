import type { SessionEvent } from './event.ts'

/** How far a log is safe. */
export interface FlushReceipt {
  /** The last seq on stable storage, -1 when there is none. */
  readonly durableSeq: number
  /** Names the log's whole content up to `durableSeq`, where the storage says. Compare it, and read nothing into it. */
  readonly digest?: string
  /** `memory`: this session has no writer, and nothing of it will survive the process. */
  readonly kind: 'stored' | 'memory'
}

/**
 * The writer that is bound to one session for its whole life.
 *
 * `admit` decides before the event exists: what it throws refuses the append, and no seq is used. What a session
 * starts with, a boundary and the recoveries before it, starts no write: a resume that never writes leaves no mark.
 */
export interface Recorder {
  /** The last seq on stable storage, -1 when there is none. */
  readonly durableSeq: number
  /** As in a `FlushReceipt`. */
  readonly digest?: string | undefined
  /**
   * `accompanies`: as the definition of its type says; there is always room for it.
   * @throws SessionError `BACK_PRESSURE`, `FENCED`, `STORAGE_FAILED`, `DISPOSED`, `INVALID_PAYLOAD` (too large).
   */
  admit(event: SessionEvent, accompanies?: boolean): void
  /** Resolves when everything admitted before the call is durable. Rejects when the writer is gone or has failed. */
  flush(): Promise<void>
  /** Lets go of the session: the lease is released. Idempotent. */
  close(): Promise<void>
}
