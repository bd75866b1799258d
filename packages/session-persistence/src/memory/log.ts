import { SessionError, assert, type SessionHeader } from '@tidemark/session-core'
import type { RecentBatches } from '../acceptance.ts'
import type { EncodedEvent } from '../encoded-event.ts'
import { thisProcess } from '../process.ts'
import type { Claim, Receipted, Tail, Writer } from '../storage.ts'

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

/** @throws SessionError `CORRUPT` unless the log holds what somebody was told that it does. */
export function refuseUnheld(log: MemoryLog, receipt: Receipted | undefined): void {
  if (receipt === undefined) return
  const { seq, digest } = receipt
  const sessionId = log.header.id
  const lastSeq = tailOf(log).seq
  if (seq > lastSeq) {
    const message = `${sessionId}: ends at seq ${lastSeq}, and was told to be durable through seq ${seq}`
    throw new SessionError('CORRUPT', message, { sessionId, seq, intactThrough: lastSeq })
  }
  const isSame = ({ tail }: MemoryBatch): boolean => tail.seq === seq && tail.digest === digest
  if (digest === undefined || log.batches.some(isSame)) return
  const message = `${sessionId}: what it holds through seq ${seq} is not what was told to be durable`
  throw new SessionError('CORRUPT', message, { sessionId, seq })
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
