import { SessionError } from '@tidemark/session-core'
import { receiptOf, receiptedIn } from './kept-receipt.ts'
import type { FollowedBatch, FollowRequest } from './request.ts'
import type { FollowTerms, StoredBatch, Tail } from './storage.ts'
import type { StoreAccess } from './store-access.ts'
import { asUnknown } from './stored-session.ts'

const pollMsDefault = 100
const pollMsMin = 10
const pollMsMax = 10_000

/** A follower is asked about again as often, in milliseconds: what was allowed may not be any more. */
const askEveryMs = 250

/**
 * What is stored of a session and what is still to come, for a reader that keeps nothing but a cursor.
 *
 * 1. No event comes twice, and none is left out.
 * 2. Permission is asked for before anything is looked at, and again while it goes on.
 */
export class Following {
  constructor(private readonly access: StoreAccess) {}

  async *follow(
    id: string,
    { as, after, signal, pollMs = pollMsDefault }: FollowRequest,
  ): AsyncGenerator<FollowedBatch, void> {
    if (!Number.isInteger(pollMs) || pollMs < pollMsMin || pollMs > pollMsMax)
      throw new SessionError('INVALID_SEQ', `pollMs is a whole number from ${pollMsMin} to ${pollMsMax}`)
    const place = receiptedIn(after)
    const { authorization, open, storage } = this.access
    const ask = (): Promise<void> => authorization.require({ operation: 'follow', sessionId: id, as })
    await open.run(ask)
    let askedAt = performance.now()
    const terms: FollowTerms = {
      pollMs,
      signal: AbortSignal.any([open.closed, ...(signal ? [signal] : [])]),
      ...(place && { after: { digest: '', ...place } }),
    }
    const batches = storage.follow?.(id, terms) ?? this.looks(id, terms)
    for await (const { events, tail, isDurable } of batches) {
      if (performance.now() - askedAt >= askEveryMs) {
        await ask()
        askedAt = performance.now()
      }
      const { seq, digest } = tail
      yield { events, cursor: { seq, digest }, isDurable }
    }
  }

  /** For a storage that cannot tell what is new: reads what comes after the cursor, again and again. */
  private async *looks(
    id: string,
    { after, signal, pollMs }: FollowTerms,
  ): AsyncGenerator<StoredBatch, void> {
    let cursor: Tail | undefined = after
    while (!signal?.aborted) {
      const seq = cursor?.seq ?? -1
      const terms = { from: seq + 1, ...(cursor && { receipt: receiptOf(cursor) }) }
      const { batches } = await asUnknown(id, () => this.access.storage.read(id, terms))
      for await (const batch of batches) {
        if (batch.tail.seq <= (cursor?.seq ?? -1)) continue
        cursor = batch.tail
        yield batch
      }
      await paused(pollMs, signal)
    }
  }
}

/** Ends at once when it is aborted. */
function paused(durationMs: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const over = (): void => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', over)
      resolve()
    }
    const timer = setTimeout(over, durationMs)
    signal?.addEventListener('abort', over)
    if (signal?.aborted) over()
  })
}
