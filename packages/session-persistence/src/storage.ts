import type { SessionError, SessionHeader, SessionRecovered } from '@tidemark/session-core'
import type { EncodedEvent } from './encoded-event.ts'
import type { Claim, Lease, Tail } from './storage-lease.ts'
import type { SalvagedLog, StoredBatch, StoredLog, Verdict } from './stored-log.ts'
import type { SummaryPage } from './summary.ts'

export type * from './storage-lease.ts'
export type * from './stored-log.ts'

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
 * fails, and with `DISPOSED` after `close`; always with a `SessionError`. Times are milliseconds since the
 * epoch, sizes are bytes.
 */
export interface SessionStorage {
  readonly capabilities: StorageCapabilities

  /**
   * A new session, with its first lease. It exists, with everything in `seed`, or it does not: there is no
   * half. From then on a read gives a batch, an empty one where nothing was appended; later claims need not
   * leave one.
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
   * One bad session never makes it fail. `pageOf` does this.
   * @throws SessionError `INVALID_SEQ` when `after` is no page's `next`, or `countMax` is less than 1.
   */
  list(options: ListTerms): Promise<SummaryPage>

  /**
   * Ends a session for good, and takes away what stands in its place, damaged or not. Its leases are fenced.
   * @throws SessionError `NOT_FOUND`, `LOCKED` where the terms say so.
   */
  remove(id: string, terms?: RemoveTerms): Promise<void>

  /** Reads everything and says what it found. @throws SessionError `NOT_FOUND`. */
  verify(id: string): Promise<Verdict>

  /**
   * In a storage that can: the batches that come after a cursor, and those that are still to come, until `signal` is
   * aborted. What was given out is not read again. Where this is missing, `read` is called again and again.
   * @throws SessionError `CORRUPT` when the log does not hold the cursor; `TAIL_MOVED` when somebody took over and
   * dropped what was given out before it was durable; `NOT_FOUND`, also once the session is removed.
   */
  follow?(id: string, terms: FollowTerms): AsyncIterable<StoredBatch>

  /**
   * For an operator, in a storage that can: goes on without what follows `acceptLossAfter`, which is set aside,
   * sealed off and recorded, never erased. Resolves with the record, once that is durable; its `evidence` is `operator`.
   * @throws SessionError `INVALID_SEQ` unless that is the end of a whole batch; what `acquire` does.
   */
  repair?(id: string, terms: RepairTerms): Promise<SessionRecovered>

  /**
   * In a storage that can: whatever can still be read of a damaged log, in order of seq. Changes nothing.
   * @throws SessionError `NOT_FOUND`.
   */
  salvage?(id: string): Promise<SalvagedLog>

  /** Present when `capabilities.hasSnapshots`. */
  readonly snapshots?: SnapshotShelf

  /** Releases every lease that is left. Idempotent. */
  close(): Promise<void>
}

/** What a storage can and cannot do. */
export interface StorageCapabilities {
  /** Whether other processes may use the same sessions: then a lease can be lost at any time. */
  readonly isShared: boolean
  /** Whether what is acknowledged outlives the process. If not, what is held is called durable all the same. */
  readonly isDurable: boolean
  readonly hasSnapshots: boolean
  /** The largest event, as its line. */
  readonly eventSizeBytesMax: number
  /** The sum of the lines in one append. At least `eventSizeBytesMax`. */
  readonly batchSizeBytesMax: number
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
  /** What the caller was told is durable: a log that does not hold it is refused with `CORRUPT`. */
  readonly receipt?: Receipted
}

/** How far somebody was told that a log is durable. Without a digest only the seq can be looked for. */
export interface Receipted {
  readonly seq: number
  /** Of the log's whole content up to there: batches end where they ended when it was told. */
  readonly digest?: string
}

export interface ReadTerms {
  /** The first seq wanted: a batch that begins before it is given without the events before it. Default: 0. */
  readonly from?: number
  /** The last seq wanted, likewise: what follows is neither given nor judged. Default: the log's last. */
  readonly through?: number
  /**
   * As in `AcquireTerms`. One beyond `through` is not judged. One that fits is a proof: without `through`, the
   * batch that ends there is given as `isDurable`, also where it is the log's last.
   */
  readonly receipt?: Receipted
}

export interface FollowTerms {
  /** Default: from the beginning. With an empty digest only the seq can be looked for. */
  readonly after?: Tail
  readonly signal?: AbortSignal
  /** How long to wait between two looks, in milliseconds. */
  readonly pollMs: number
}

export interface RepairTerms {
  readonly claim: Claim
  readonly acceptLossAfter: number
  readonly force?: boolean
}

export interface RemoveTerms {
  /** Refuse with `LOCKED` when the storage knows that a holder lives. Default: that one is fenced. */
  readonly unlessHeld?: boolean
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
  /** As in `AcquireTerms`, wherever it lies: a source that does not hold it is not the log that was meant. */
  readonly receipt?: Receipted
}

/** States of projections at one point of a log: a shortcut, never the truth. */
export interface SnapshotShelf {
  /** @throws SessionError `FENCED`, `TAIL_MOVED` unless `snapshot.at` ends a durable batch of this lease's log. */
  save(lease: Lease, snapshot: Snapshot, onPassedOver?: OnPassedOver): Promise<void>
  /**
   * The newest one that is whole and belongs to this log, at or before `through`. One that cannot be used, whatever the
   * reason, is passed over, and `onPassedOver` told; only where the log itself fails does it reject.
   */
  load(id: string, through?: number, onPassedOver?: OnPassedOver): Promise<Snapshot | undefined>
}

/** Hears which snapshot is not used, and why. */
export type OnPassedOver = (error: SessionError) => void

export interface Snapshot {
  readonly at: Tail
  readonly content: Uint8Array
}
