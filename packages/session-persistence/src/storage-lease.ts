import type { SessionHeader, SessionRecovered } from '@tidemark/session-core'
import type { EncodedEvent } from './encoded-event.ts'

/** Where a log ends. `digest` names its whole content up to `seq`; compare it, and read nothing into it. */
export interface Tail {
  /** -1 when the log is empty. */
  readonly seq: number
  readonly digest: string
}

/** What the caller says of itself when it becomes a writer. */
export interface Claim {
  /** The lifecycle that writes: a fresh id each time a session is opened. */
  readonly incarnation: string
  /** What switched persistence on, so that a process that should not write can be found. */
  readonly enabledBy: EnabledBy
  /** Types that this writer carries without knowing them. */
  readonly carry?: readonly string[]
}

export type EnabledBy = 'config' | 'env'

/** Who wrote a batch: the claim, and the process as the storage sees it. */
export interface Writer extends Claim {
  readonly pid: number
  readonly host: string
  /** Tells a machine's runs apart; null where the system does not say. */
  readonly bootId: string | null
  /** When the process started. */
  readonly startedAt: number
}

/**
 * The right to append to one session.
 *
 * 1. `epoch` is higher than that of every lease of this session before it, also over restarts.
 * 2. `tail` is the end of the log, as acknowledged.
 * 3. After the first `FENCED`, `STORAGE_FAILED` or `OUTCOME_UNKNOWN` nothing is written through it again.
 */
export interface Lease {
  readonly header: SessionHeader
  readonly epoch: number
  readonly tail: Tail
  /**
   * What recoveries found that no event of the log tells yet, oldest first. Whoever makes a session of the lease
   * appends a `session/recovered` for each, before anything else.
   */
  readonly recovered?: readonly SessionRecovered[]

  /**
   * Appends a batch as a whole or not at all, and resolves when it is durable. One at a time: a second call
   * waits. A `batchId` that was appended lately, also by an earlier lease, is acknowledged again, and not
   * appended, if the content is the same.
   *
   * @throws SessionError, and then nothing was appended:
   * `TAIL_MOVED` (`expectedTail` is not the tail, or the batch does not start right after it), `CONFLICT`
   * (this `batchId` had other content), `SEALED` (the log takes no more events), `INVALID_PAYLOAD` (too
   * large), `INVALID_SEQ` (empty, or with gaps), `DISPOSED` (released), `STORAGE_FAILED` (the medium failed
   * before the batch was whole);
   * or with the outcome open until the session is acquired again: `FENCED` (a later epoch exists) and
   * `OUTCOME_UNKNOWN` (the medium failed after the batch was whole).
   */
  append(batch: readonly EncodedEvent[], terms: AppendTerms): Promise<Receipt>

  /**
   * Gives the lease back. Idempotent. What was not acknowledged is not waited for, except an append under
   * way.
   */
  release(): Promise<void>
}

export interface AppendTerms {
  /** Where the caller believes the log to end. */
  readonly expectedTail: Tail
  /** The lease's. */
  readonly epoch: number
  /** Chosen by the caller, new for each batch, 1 to 128 characters. */
  readonly batchId: string
}

export interface Receipt {
  /** Where the log ends now. */
  readonly tail: Tail
  /** The last seq on stable storage; in a storage that is not durable, the last one it holds. */
  readonly durable: number
}
