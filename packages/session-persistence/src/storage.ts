import type { AnySessionEvent, SessionHeader } from '@tidemark/session-core'
import type { EncodedEvent } from './encoded-event.ts'
import type { SummaryPage } from './summary.ts'

/**
 * Where sessions are kept. Whoever implements it promises:
 *
 * 1. An event whose append was acknowledged is returned by every later read, equal, at its seq.
 * 2. A read returns the log as far as it was written: no gaps, and nothing that no writer wrote. Its last
 *    batch may not be acknowledged yet; while somebody takes over, it may still be dropped.
 * 3. At most one lease of a session can append: once a later epoch is claimed, earlier ones acknowledge
 *    nothing.
 * 4. `read`, `list` and `verify` change nothing at all.
 * 5. What cannot be read without doubt is refused with `CORRUPT`, and nothing is changed.
 *
 * Every method rejects with `INVALID_ID` for an id that cannot be one, with `STORAGE_FAILED` when the medium
 * fails, and with `DISPOSED` after `close`. Times are milliseconds since the epoch, sizes are bytes.
 */
export interface SessionStorage {
  readonly capabilities: StorageCapabilities

  /**
   * A new session, with its first lease. It exists, with everything in `seed`, or it does not: there is no
   * half.
   * @throws SessionError `EXISTS`, `INVALID_SEED`, `INVALID_PAYLOAD` when header or event is too large.
   */
  create(header: SessionHeader, options: CreateTerms): Promise<Lease>

  /**
   * The right to append to a session. Resolves when the claim itself is durable. Leases that were given out
   * earlier are fenced from then on.
   * @throws SessionError `NOT_FOUND` (nothing is created), `LOCKED` when the storage knows that the holder
   * lives, `FENCED` when a later claim won, `CORRUPT`, `UNSUPPORTED_FORMAT`.
   */
  acquire(id: string, options: AcquireTerms): Promise<Lease>

  /**
   * What is stored, in order and in bounded pieces.
   * @throws SessionError `NOT_FOUND`, `UNSUPPORTED_FORMAT`, and, here or while the batches are read,
   * `CORRUPT` and `TAIL_MOVED`: somebody took over and dropped what was read; read again.
   */
  read(id: string, options?: ReadTerms): Promise<StoredLog>

  /**
   * A new session that inherits a stored one's events up to and including `source.through`, with its first
   * lease. The source is only read. As with `create`, there is no half.
   * @throws SessionError `NOT_FOUND`, `EXISTS`, `CORRUPT`, `INVALID_SEQ` when the source ends before
   * `through`.
   */
  fork(source: ForkSource, header: SessionHeader, claim: Claim): Promise<Lease>

  /**
   * Newest human activity first, then by id; sessions that cannot be read come last, with the reason.
   * One bad session never makes it fail.
   */
  list(options: ListTerms): Promise<SummaryPage>

  /** Ends a session for good. Its leases are fenced. @throws SessionError `NOT_FOUND`. */
  remove(id: string): Promise<void>

  /** Reads everything and says what it found. @throws SessionError `NOT_FOUND`. */
  verify(id: string): Promise<Verdict>

  /** Present when `capabilities.hasSnapshots`. */
  readonly snapshots?: SnapshotShelf

  /** Releases every lease that is left. Idempotent. */
  close(): Promise<void>
}

/** What a storage can and cannot do. */
export interface StorageCapabilities {
  /** Whether other processes may use the same sessions: then a lease can be lost at any time. */
  readonly isShared: boolean
  /** Whether what is acknowledged outlives the process. */
  readonly isDurable: boolean
  readonly hasSnapshots: boolean
  /** The largest event, as its line. */
  readonly eventSizeBytesMax: number
  /** The sum of the lines in one append. At least `eventSizeBytesMax`. */
  readonly batchSizeBytesMax: number
}

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

export interface CreateTerms {
  readonly claim: Claim
  /** The events that the session begins with, from seq 0. */
  readonly seed?: Iterable<EncodedEvent>
}

export interface AcquireTerms {
  readonly claim: Claim
  /** Take over also from a holder that is known to live. Safe, because it is fenced. */
  readonly force?: boolean
}

export interface ReadTerms {
  /** The first seq wanted. Default: 0. */
  readonly from?: number
}

export interface ListTerms {
  /** Where the page before ended: its `next`. */
  readonly after?: string
  readonly countMax: number
}

export interface ForkSource {
  readonly id: string
  /** -1: inherit nothing. */
  readonly through: number
}

export interface StoredLog {
  readonly header: SessionHeader
  /** Batches that end before `from` may be left out, the last one of the log never. */
  readonly batches: AsyncIterable<StoredBatch>
}

/** What was appended at once. It may hold no events: a lifecycle began there. */
export interface StoredBatch {
  readonly epoch: number
  readonly writer: Writer
  readonly events: readonly AnySessionEvent[]
  /** Where the log ended after this batch. */
  readonly tail: Tail
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
   * Appends a batch as a whole or not at all, and resolves when it is durable. One at a time: a second call
   * waits. A `batchId` that was appended lately is acknowledged again, and not appended, if the content is
   * the same.
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

export type Verdict =
  | { readonly kind: 'intact'; readonly tail: Tail }
  | {
      readonly kind: 'damaged'
      readonly code: string
      readonly reason: string
      readonly intactThrough?: number
    }

/** States of projections at one point of a log: a shortcut, never the truth. */
export interface SnapshotShelf {
  /** @throws SessionError `FENCED`, `TAIL_MOVED` unless `snapshot.at` is durable in this lease's log. */
  save(lease: Lease, snapshot: Snapshot): Promise<void>
  /** The newest one that is whole and belongs to this log, at or before `through`. */
  load(id: string, through?: number): Promise<Snapshot | undefined>
}

export interface Snapshot {
  readonly at: Tail
  readonly content: Uint8Array
}
