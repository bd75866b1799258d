import { SessionError } from '@tidemark/session-core'
import { chainDigest } from './digest.ts'
import { isLarger, linesOf, type EncodedEvent } from './encoded-event.ts'
import type { AppendTerms, StorageCapabilities, Tail } from './storage.ts'

/** How many batch ids one lease recognises when they come again. */
export const recentBatchesMax = 256

const batchIdLengthMax = 128

interface Span {
  readonly before: Tail
  readonly after: Tail
  /** Where the storage has its end, if it says so. */
  readonly place?: { readonly segment: string; readonly offset: number }
}

/**
 * The batches that were appended last, also by earlier leases: the oldest is forgotten when a new one comes.
 */
export class RecentBatches {
  private readonly spans = new Map<string, Span>()

  add(batchId: string, span: Span): void {
    this.spans.set(batchId, span)
    if (this.spans.size <= recentBatchesMax) return
    for (const oldest of this.spans.keys()) {
      this.spans.delete(oldest)
      return
    }
  }

  find(batchId: string): Span | undefined {
    return this.spans.get(batchId)
  }

  /** Where a batch ends that ended the log so. */
  placeOf({ seq, digest }: Tail): Span['place'] {
    const spans = [...this.spans.values()]
    return spans.findLast(({ after }) => after.seq === seq && after.digest === digest)?.place
  }
}

/** What a lease knows when a batch comes. */
export interface LeaseState {
  readonly id: string
  readonly epoch: number
  readonly tail: Tail
  readonly recent: RecentBatches
}

/** A batch that comes, and how its storage writes one: the bytes that it keeps are those that the digest names. */
export interface Offer {
  readonly batch: readonly EncodedEvent[]
  readonly terms: AppendTerms
  /** The same batch gives the same bytes. Default: `linesOf`. */
  readonly write?: (batch: readonly EncodedEvent[]) => Uint8Array
}

/** `repeat`: it stands in the log already, and ended at `tail` then. */
export type Acceptance =
  | { readonly kind: 'append'; readonly lines: Uint8Array; readonly tail: Tail }
  | { readonly kind: 'repeat'; readonly tail: Tail }

/**
 * Decides whether a batch may be appended. Changes nothing; every storage can use it.
 * @throws SessionError `FENCED`, `INVALID_ID`, `INVALID_SEQ`, `INVALID_PAYLOAD`, `CONFLICT`, `TAIL_MOVED`.
 */
export function decideAcceptance(
  state: LeaseState,
  { batch, terms, write = linesOf }: Offer,
  limits: StorageCapabilities,
): Acceptance {
  const { id, epoch, tail, recent } = state
  if (terms.epoch !== epoch) {
    throw new SessionError('FENCED', `${id}: the batch is of epoch ${terms.epoch}, the lease of ${epoch}`, {
      sessionId: id,
    })
  }
  refuseMalformed(id, batch, terms.batchId)
  refuseLarge(id, batch, limits)
  const lines = write(batch)
  const known = recent.find(terms.batchId)
  if (known) return decideRepeat(id, known, { batch, lines })
  refuseMoved(state, batch, terms.expectedTail)
  return {
    kind: 'append',
    lines,
    tail: { seq: tail.seq + batch.length, digest: chainDigest(tail.digest, [lines]) },
  }
}

function refuseMalformed(id: string, batch: readonly EncodedEvent[], batchId: string): void {
  if (batchId.length === 0 || batchId.length > batchIdLengthMax || !batchId.isWellFormed()) {
    throw new SessionError('INVALID_ID', `${id}: a batch id is text of 1 to ${batchIdLengthMax} characters`)
  }
  const first = batch[0]?.event.seq
  const inOrder = first !== undefined && batch.every(({ event }, index) => event.seq === first + index)
  if (!inOrder) throw new SessionError('INVALID_SEQ', `${id}: a batch holds at least one event, and no gaps`)
}

function refuseLarge(id: string, batch: readonly EncodedEvent[], limits: StorageCapabilities): void {
  const large = batch.find((encoded) => isLarger(encoded, limits.eventSizeBytesMax))
  if (large) throw tooLarge(id, large, limits.eventSizeBytesMax)
  const boundBytes = batch.reduce((sum, { sizeBytesMax }) => sum + sizeBytesMax, 0)
  if (boundBytes <= limits.batchSizeBytesMax) return
  const sizeBytes = batch.reduce((sum, each) => sum + each.sizeBytes, 0)
  if (sizeBytes <= limits.batchSizeBytesMax) return
  throw new SessionError(
    'INVALID_PAYLOAD',
    `${id}: a batch of ${sizeBytes} bytes; at most ${limits.batchSizeBytesMax}`,
  )
}

/** What a session begins with goes on from the events before it. @throws SessionError `INVALID_SEED`. */
export function refuseBrokenSeed(id: string, events: readonly EncodedEvent[], from: number): void {
  const gap = events.findIndex(({ event }, index) => event.seq !== from + index)
  if (gap === -1) return
  const message = `${id}: the seed has no event of seq ${from + gap} where it must stand; nothing was created`
  throw new SessionError('INVALID_SEED', message, { sessionId: id, seq: from + gap })
}

export function tooLarge(id: string, { event, sizeBytes }: EncodedEvent, sizeBytesMax: number): SessionError {
  const { seq, type } = event
  const size = `${sizeBytes} bytes, at most ${sizeBytesMax}`
  const message = `${id}: ${type} at seq ${seq} takes ${size}; nothing was recorded`
  return new SessionError('INVALID_PAYLOAD', message, { sessionId: id, seq, type, sizeBytes, sizeBytesMax })
}

function decideRepeat(
  id: string,
  { before, after }: Span,
  { batch, lines }: { batch: readonly EncodedEvent[]; lines: Uint8Array },
): Acceptance {
  const isSame =
    batch[0]?.event.seq === before.seq + 1 && chainDigest(before.digest, [lines]) === after.digest
  if (isSame) return { kind: 'repeat', tail: after }
  throw new SessionError(
    'CONFLICT',
    `${id}: this batch id was used for seq ${before.seq + 1} to ${after.seq}; log unchanged`,
  )
}

function refuseMoved({ id, tail }: LeaseState, batch: readonly EncodedEvent[], expected: Tail): void {
  const from = batch[0]?.event.seq
  if (expected.seq === tail.seq && expected.digest === tail.digest && from === tail.seq + 1) return
  const message = `${id}: next seq is ${tail.seq + 1}, batch starts at ${from}; log unchanged`
  throw new SessionError('TAIL_MOVED', message, { sessionId: id, intactThrough: tail.seq })
}
