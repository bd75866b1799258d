import type { JsonObject } from '@tidemark/session-core'

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

export interface ReadRequest extends Caller {
  /** Types that nobody here knows, to be carried as they are. */
  readonly carry?: readonly string[]
}

export interface ForkRequest extends CreateRequest, ReadRequest {
  /** The last seq to inherit. Default: the source's last. */
  readonly through?: number
}

export interface ListRequest extends Caller {
  /** The `next` of the page before. */
  readonly after?: string
  /** Default: 50. */
  readonly countMax?: number
}
