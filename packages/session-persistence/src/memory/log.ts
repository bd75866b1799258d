import { assert, type SessionHeader } from '@tidemark/session-core'
import type { RecentBatches } from '../acceptance.ts'
import type { EncodedEvent } from '../encoded-event.ts'
import { thisProcess } from '../process.ts'
import type { Claim, Tail, Writer } from '../storage.ts'

/** What was appended at once, as JSON texts. */
export interface MemoryBatch {
  readonly epoch: number
  readonly writer: Writer
  readonly texts: readonly string[]
  readonly tail: Tail
}

/**
 * The log of one session.
 *
 * 1. Its batches are as they were appended, oldest first; the first one is empty.
 * 2. Only the lease of the highest epoch adds to it.
 */
export interface MemoryLog {
  readonly header: SessionHeader
  readonly batches: MemoryBatch[]
  readonly recent: RecentBatches
  epoch: number
}

export function tailOf({ batches }: MemoryLog): Tail {
  const last = batches.at(-1)
  assert(last, 'a log has a batch')
  return last.tail
}

interface Written {
  readonly epoch: number
  readonly claim: Claim
  readonly events: readonly EncodedEvent[]
}

export function batchOf({ epoch, claim, events }: Written, tail: Tail): MemoryBatch {
  return {
    epoch,
    writer: { ...claim, ...thisProcess(), bootId: null },
    texts: events.map(({ json }) => json),
    tail,
  }
}
