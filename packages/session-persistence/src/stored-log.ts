import type { AnySessionEvent, SessionHeader } from '@tidemark/session-core'
import type { Tail, Writer } from './storage-lease.ts'

export interface StoredLog {
  readonly header: SessionHeader
  /**
   * At least one. Those that end before `from` may be left out, the last one of the log never: its `tail` says
   * where that ends. It comes without events where none of them is wanted, or it has none.
   */
  readonly batches: AsyncIterable<StoredBatch>
  /** What follows the last batch, known once the batches were read to their end. */
  readonly rest?: () => Rest | undefined
}

/**
 * Bytes after the last whole batch that nobody was told are safe. `pending`: a writer lives that may be writing
 * them. `torn`: a crash left them, and the next claim sets them aside.
 */
export interface Rest {
  readonly kind: 'pending' | 'torn'
  readonly segment: string
  readonly offset: number
  readonly sizeBytes: number
}

/** What was appended at once. It may hold no events: a lifecycle began there. */
export interface StoredBatch {
  readonly epoch: number
  readonly writer: Writer
  readonly events: readonly AnySessionEvent[]
  /** Where the log ended after this batch; the same where a read was given only a part of its events. */
  readonly tail: Tail
  /**
   * Whether the storage can prove that it was on stable storage, or, where `capabilities.isDurable` is false, that
   * it is held. True of all but the last that a read gives, since what follows proves it; of that it often cannot.
   */
  readonly isDurable: boolean
  /** What it takes in the storage. Absent where that does not tell: then memory is bounded by events only. */
  readonly sizeBytes?: number
}

/** What is left of a damaged log. */
export interface SalvagedLog {
  /** Absent where no header can be read. */
  readonly header?: SessionHeader
  readonly records: AsyncIterable<SalvagedRecord>
}

/** Seqs rise; those that are missing are lost. */
export interface SalvagedRecord {
  readonly event: AnySessionEvent
  /** Whether its batch proves that it is as it was written. */
  readonly isProven: boolean
}

/** `beside`: what stands in the session's place and is not part of the log, such as claims that were never begun. */
export type Verdict =
  | {
      readonly kind: 'intact'
      readonly tail: Tail
      readonly durable: number
      readonly beside?: readonly string[]
    }
  | {
      /** A crash, or a writer that lives, left more than the log holds. Nothing that was acknowledged is missing. */
      readonly kind: 'unfinished'
      readonly tail: Tail
      readonly durable: number
      readonly rest: Rest
      readonly beside?: readonly string[]
    }
  | {
      readonly kind: 'damaged'
      readonly code: string
      readonly reason: string
      /** The last seq before the damage that ends a whole batch; -1 when there is none. */
      readonly intactThrough?: number
      readonly segment?: string
      readonly offset?: number
      /** The row of the storage's own rule that refuses it. */
      readonly rule?: string
    }
