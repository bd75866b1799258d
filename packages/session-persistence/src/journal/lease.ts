import { SessionError, isSessionError, type SessionHeader } from '@tidemark/session-core'
import { decideAcceptance, type RecentBatches } from '../acceptance.ts'
import type { EncodedEvent } from '../encoded-event.ts'
import type { AppendTerms, Lease, Receipt, StorageCapabilities, Tail } from '../storage.ts'
import { commitSizeBytesMax, sealCommit } from './commit.ts'
import { failure } from './failure.ts'
import { glance, look, writeAll, type OwnSegment } from './own-segment.ts'
import { batchSizeBytesMax } from './segment-scan.ts'

export const journalCapabilities: StorageCapabilities = {
  isShared: true,
  isDurable: true,
  hasSnapshots: false,
  eventSizeBytesMax: batchSizeBytesMax - commitSizeBytesMax,
  batchSizeBytesMax: batchSizeBytesMax - commitSizeBytesMax,
}

/** A lease as it begins: its segment holds a header and a first batch, synced and looked at. */
export interface LeaseStart {
  readonly own: OwnSegment
  readonly session: SessionHeader
  readonly salt: string
  readonly tail: Tail
  /** Bytes in the segment. */
  readonly offset: number
  readonly recent: RecentBatches
  /** Called once, when the lease is released. */
  readonly onRelease: () => void
}

/** `over`: every later append meets `error`. */
type State = { readonly kind: 'open' } | { readonly kind: 'over'; readonly error: SessionError }

/**
 * The right to append to one segment.
 *
 * 1. One batch is in flight; it is written, synced and looked at before it is acknowledged.
 * 2. After a failure nothing is written or synced through the descriptor again.
 * 3. The descriptor is closed once.
 */
export class JournalLease implements Lease {
  readonly epoch: number
  readonly header: SessionHeader
  private end: Tail
  private offset: number
  private state: State = { kind: 'open' }
  private inFlight: Promise<unknown> = Promise.resolve()
  private releasing: Promise<void> | undefined

  constructor(private readonly start: LeaseStart) {
    this.epoch = start.own.name.epoch
    this.header = start.session
    this.end = start.tail
    this.offset = start.offset
  }

  get tail(): Tail {
    return this.end
  }

  append(batch: readonly EncodedEvent[], terms: AppendTerms): Promise<Receipt> {
    const appended = this.inFlight.then(() => this.appendNext(batch, terms))
    this.inFlight = appended.catch(() => undefined) // whoever called hears of it
    return appended
  }

  release(): Promise<void> {
    this.releasing ??= this.inFlight.then(() => this.releaseOnce())
    return this.releasing
  }

  private async appendNext(batch: readonly EncodedEvent[], terms: AppendTerms): Promise<Receipt> {
    if (this.state.kind === 'over') throw this.state.error
    const { own, recent } = this.start
    const state = { id: own.folder.id, epoch: this.epoch, tail: this.end, recent }
    const acceptance = decideAcceptance(state, { batch, terms }, journalCapabilities)
    // A stale writer is refused before it writes a byte.
    await this.attempt('STORAGE_FAILED', 'looking for other writers', () => glance(own))
    if (acceptance.kind === 'repeat') {
      await this.attempt('STORAGE_FAILED', 'looking for other writers', () => look(own))
      return { tail: acceptance.tail, durable: this.end.seq }
    }
    await this.write(acceptance.lines, acceptance.tail, terms.batchId)
    recent.add(terms.batchId, { before: this.end, after: acceptance.tail })
    this.end = acceptance.tail
    return { tail: this.end, durable: this.end.seq }
  }

  private async write(lines: Uint8Array, tail: Tail, batchId: string): Promise<void> {
    const { own, salt } = this.start
    const { seq: durable } = this.end
    const commit = {
      from: durable + 1,
      to: tail.seq,
      epoch: this.epoch,
      batchId,
      durable,
      digest: tail.digest,
    }
    const bytes = Buffer.concat([lines, sealCommit(commit, salt)])
    await this.attempt('STORAGE_FAILED', 'writing a batch', () => writeAll(own.file, bytes, this.offset))
    this.offset += bytes.length
    await this.attempt('OUTCOME_UNKNOWN', 'syncing a batch', () => own.file.sync())
    await this.attempt('OUTCOME_UNKNOWN', 'looking for other writers', () => look(own))
  }

  /** Whatever fails here ends the lease. */
  private async attempt<T>(
    code: 'STORAGE_FAILED' | 'OUTCOME_UNKNOWN',
    what: string,
    work: () => Promise<T>,
  ): Promise<T> {
    try {
      return await work()
    } catch (cause) {
      const error = this.describe(code, what, cause)
      this.state = { kind: 'over', error: error.code === 'FENCED' ? error : this.over(error) }
      throw error
    }
  }

  private describe(code: 'STORAGE_FAILED' | 'OUTCOME_UNKNOWN', what: string, cause: unknown): SessionError {
    if (isSessionError(cause) && cause.code === 'FENCED') return cause
    const { id } = this.start.own.folder
    const end = `acknowledged through seq ${this.end.seq}`
    return new SessionError(code, `${id}: ${what} failed; ${end}`, {
      sessionId: id,
      intactThrough: this.end.seq,
      cause,
    })
  }

  private over(cause: SessionError): SessionError {
    const { id } = this.start.own.folder
    const message = `${id}: this writer failed earlier and is over; nothing was written`
    return new SessionError('STORAGE_FAILED', message, { sessionId: id, intactThrough: this.end.seq, cause })
  }

  private async releaseOnce(): Promise<void> {
    const { own, onRelease } = this.start
    if (this.state.kind === 'open') {
      this.state = {
        kind: 'over',
        error: new SessionError('DISPOSED', `${own.folder.id}: this lease was released`),
      }
    }
    onRelease()
    try {
      await own.file.close()
    } catch (cause) {
      throw failure('closing a segment', cause)
    }
  }
}
