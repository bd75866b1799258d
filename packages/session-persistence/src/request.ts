import type { FlushReceipt, JsonObject } from '@tidemark/session-core'

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
  /** A log that does not hold what it says is refused with `CORRUPT`: it has lost what was durable. */
  readonly receipt?: KeptReceipt
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

/** `id` and `meta` are those of the new session. Default of `meta`: the damaged one's, where it can be read. */
export type SalvageRequest = CreateRequest
