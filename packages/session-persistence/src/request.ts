import type { AnySessionEvent, FlushReceipt, HistoryRequest, JsonObject } from '@tidemark/session-core'

/** Who asks, as `tidemark/authorize` is told. Always handed over, never taken from the surroundings. */
export interface Caller {
  readonly as?: unknown
}

export interface CreateRequest extends Caller {
  /** Default: a random one. */
  readonly id?: string
  /** The host's own, kept in the header. */
  readonly meta?: JsonObject
}

/** What a flush resolved with, as the caller kept it. Without its digest only the seq can be looked for. */
export type KeptReceipt = Pick<FlushReceipt, 'durableSeq' | 'digest'> & Partial<Pick<FlushReceipt, 'kind'>>

export interface ReadRequest extends Caller {
  /** Types that nobody here knows, to be carried as they are. */
  readonly carry?: readonly string[]
  /** A log that does not hold what it says is refused with `CORRUPT`: it has lost what was durable. Or a cursor. */
  readonly receipt?: KeptReceipt | Cursor
}

export interface InspectRequest extends ReadRequest {
  /** The last seq to read; what follows does not matter, damaged or not. Default: the log's last. */
  readonly through?: number
}

export interface ResumeRequest extends ReadRequest {
  /**
   * Take over also from another process that has the session open. No event is at risk: the other one is fenced
   * by the epoch, and acknowledges nothing any more. What it has not flushed yet is lost to it.
   */
  readonly force?: boolean
}

export interface ForkRequest extends CreateRequest, ReadRequest {
  /** The last seq to inherit; damage after it does not matter. Default: the source's last. */
  readonly through?: number
}

export interface ListRequest extends Caller {
  /** The `next` of the page before. */
  readonly after?: string
  /** Default: 50. */
  readonly countMax?: number
}

export interface RepairRequest extends Caller {
  /** The last seq to keep: the end of a whole batch, such as the `intactThrough` of a `damaged` verdict. */
  readonly acceptLossAfter: number
  /** As in `ResumeRequest`. */
  readonly force?: boolean
}

export interface RemoveRequest extends Caller {
  /** Remove it although it is open somewhere, here or in another process: whoever has it is fenced. */
  readonly force?: boolean
}

/** `id` and `meta` are those of the new session. Default of `meta`: the damaged one's, where it can be read. */
export type SalvageRequest = CreateRequest

/** As a session's own `history`. */
export interface StoredHistoryRequest extends HistoryRequest, Caller {}

/** A place in a stored log. `digest` names the log's whole content up to `seq`, so that another history is noticed. */
export interface Cursor {
  /** -1: before the first event. */
  readonly seq: number
  readonly digest: string
}

export interface FollowRequest extends Caller {
  /** The cursor of the last batch that the caller has, or a flush's receipt. Default: from the beginning. */
  readonly after?: Cursor | KeptReceipt
  /** Ends the stream when it is aborted. It also ends when persistence is closed. */
  readonly signal?: AbortSignal
  /** How long to wait between two looks at the log, in milliseconds. Default: 100; 10 to 10,000. */
  readonly pollMs?: number
}

/** What was appended at once. */
export interface FollowedBatch {
  /** As they are stored. */
  readonly events: readonly AnySessionEvent[]
  /** Where to go on after this batch. */
  readonly cursor: Cursor
  /** Whether anything proves that it is on stable storage; the batch after it does. */
  readonly isDurable: boolean
}
