import type { AnySessionEvent, SessionHeader } from '@tidemark/session-core'
import { encodeEvent, type EncodedEvent } from '../../encoded-event.ts'
import { noBatch } from '../../refused-read.ts'
import type { Lease, ReadTerms, Receipt, SessionStorage, StoredBatch, Tail } from '../../storage.ts'

export const headerOf = (id: string, more: Partial<SessionHeader> = {}): SessionHeader => ({
  id,
  createdAt: 1_000,
  ...more,
})

let incarnations = 0
export const newClaim = () => ({ incarnation: `life-${++incarnations}`, enabledBy: 'config' as const })

export function event(
  seq: number,
  data: unknown = { n: seq },
  more: Partial<AnySessionEvent> = {},
): AnySessionEvent {
  return { seq, time: 1_000 + seq, type: 'test/event', data, ...more }
}

export const encoded = (seq: number, data?: unknown): EncodedEvent => encodeEvent(event(seq, data))

/** Events of these seqs, both ends included. */
export function events(from: number, through: number): EncodedEvent[] {
  return Array.from({ length: through - from + 1 }, (_, index) => encodeEvent(event(from + index)))
}

let batchIds = 0
export const newBatchId = (): string => `batch-${++batchIds}`

/** Appends right after the lease's tail. */
export async function append(
  lease: Lease,
  batch: readonly EncodedEvent[],
  batchId = newBatchId(),
): Promise<Receipt> {
  return lease.append(batch, { expectedTail: lease.tail, epoch: lease.epoch, batchId })
}

/** Appends `count` events as one batch. */
export async function appendNext(lease: Lease, count = 1): Promise<Receipt> {
  return append(lease, events(lease.tail.seq + 1, lease.tail.seq + count))
}

export interface ReadBack {
  readonly header: SessionHeader
  readonly events: readonly AnySessionEvent[]
  readonly tail: Tail
  readonly epochs: readonly { epoch: number; incarnation: string; seqs: readonly number[] }[]
}

export async function readBack(storage: SessionStorage, id: string, from?: number): Promise<ReadBack> {
  const { header, batches } = await storage.read(id, from === undefined ? {} : { from })
  const found: AnySessionEvent[] = []
  const epochs: { epoch: number; incarnation: string; seqs: number[] }[] = []
  let tail: Tail | undefined
  for await (const batch of batches) {
    if (epochs.at(-1)?.epoch !== batch.epoch) {
      epochs.push({ epoch: batch.epoch, incarnation: batch.writer.incarnation, seqs: [] })
    }
    epochs.at(-1)?.seqs.push(...batch.events.map(({ seq }) => seq))
    found.push(...batch.events)
    tail = batch.tail
  }
  if (tail === undefined) throw noBatch(id)
  return { header, events: found, tail, epochs }
}

/** Every batch that a read gives: one at least. */
export async function batchesOf(
  storage: SessionStorage,
  id: string,
  terms: ReadTerms = {},
): Promise<StoredBatch[]> {
  const batches: StoredBatch[] = []
  for await (const batch of (await storage.read(id, terms)).batches) batches.push(batch)
  if (batches.length === 0) throw noBatch(id)
  return batches
}

export const seqsOf = (found: readonly AnySessionEvent[]): number[] => found.map(({ seq }) => seq)

export const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index)
