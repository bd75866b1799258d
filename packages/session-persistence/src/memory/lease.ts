import { SessionError, type SessionHeader } from '@tidemark/session-core'
import { decideAcceptance } from '../acceptance.ts'
import type { EncodedEvent } from '../encoded-event.ts'
import type { AppendTerms, Claim, Lease, Receipt, StorageCapabilities, Tail } from '../storage.ts'
import { batchOf, tailOf, type MemoryLog } from './log.ts'

const sizeBytesMax = 8_388_608

export const memoryCapabilities: StorageCapabilities = {
  isShared: false,
  isDurable: false,
  hasSnapshots: false,
  eventSizeBytesMax: sizeBytesMax,
  batchSizeBytesMax: sizeBytesMax,
}

export class MemoryLease implements Lease {
  readonly epoch: number
  private isReleased = false

  /** `isKept` says whether the storage still holds this log. */
  constructor(
    private readonly log: MemoryLog,
    private readonly claim: Claim,
    private readonly isKept: () => boolean,
  ) {
    this.epoch = log.epoch
  }

  get header(): SessionHeader {
    return this.log.header
  }

  get tail(): Tail {
    return tailOf(this.log)
  }

  async append(batch: readonly EncodedEvent[], terms: AppendTerms): Promise<Receipt> {
    const { log, epoch, claim } = this
    const { id } = log.header
    if (this.isReleased)
      throw new SessionError('DISPOSED', `${id}: this lease was released`, { sessionId: id })
    if (log.epoch !== epoch || !this.isKept()) {
      throw new SessionError('FENCED', `${id}: another writer took over from epoch ${epoch}`, {
        sessionId: id,
      })
    }
    const state = { id, epoch, tail: this.tail, recent: log.recent }
    const acceptance = decideAcceptance(state, { batch, terms }, memoryCapabilities)
    if (acceptance.kind === 'append') {
      log.recent.add(terms.batchId, { before: state.tail, after: acceptance.tail })
      log.batches.push(batchOf({ epoch, claim, events: batch }, acceptance.tail))
    }
    return { tail: acceptance.tail, durable: this.tail.seq }
  }

  async release(): Promise<void> {
    this.isReleased = true
  }
}
