import { SessionError, assert, type Recorder, type SessionEvent } from '@tidemark/session-core'
import { tooLarge } from './acceptance.ts'
import { Backlog } from './backlog.ts'
import { encodeEvent, isLarger, knownSizeBytes, type EncodedEvent } from './encoded-event.ts'
import { waitsAlone } from './lead-in.ts'
import type { Lease, Receipt, StorageCapabilities, Tail } from './storage.ts'
import { Waiters } from './waiters.ts'
import { asSessionError, refusalAfter } from './writer-failure.ts'

export interface WriteBehindOptions {
  readonly capabilities: StorageCapabilities
  /** How long an event may wait for others to share its write. */
  readonly flushDelayMs: number
  /** Bytes that may wait, those being written included. */
  readonly pendingSizeBytesMax: number
  /** Asked before each write, and before it is cut; what it rejects with, the writer fails with. */
  readonly permit?: (() => Promise<void>) | undefined
  /** Called after each acknowledgement, with the bytes that it was of. */
  readonly onDurable: (seq: number, sizeBytes: number) => void
  /** Called once when it is closed and everything is written, and waited for before the lease is given back. */
  readonly onWritten: () => Promise<void>
  /** Called once, when it fails: perhaps nobody is waiting for a flush who could hear of it. */
  readonly onFailed: (cause: SessionError) => void
  /** Called once, when it is closed. */
  readonly onClosed: () => void
}

/** `closing`: what waits is still written. `over`: nothing is. Appends meet `refusal`, flushes `cause`. */
type State =
  | { readonly kind: 'open' }
  | { readonly kind: 'closing'; readonly refusal: SessionError }
  | { readonly kind: 'over'; readonly refusal: SessionError; readonly cause: SessionError }

interface Cut {
  readonly seq: number
  readonly resolve: () => void
  readonly reject: (cause: SessionError) => void
}

/**
 * Writes what a session records, a moment later and many events at once.
 *
 * 1. One batch is in flight at a time; batches are appended in the order of their events.
 * 2. `durableSeq` grows only when the storage has acknowledged.
 * 3. After the first failure nothing is written again.
 * 4. What a session starts with (`waitsAlone`) is written by no timer, no flush and no close, until something follows
 *    it, or a snapshot is due.
 * 5. What was appended while leave to write was asked for is durable before what that leave is for is acknowledged:
 *    whoever answers may have learned something that has to stand with it.
 */
export class WriteBehind implements Recorder {
  private state: State = { kind: 'open' }
  private readonly backlog = new Backlog()
  private isWriting = false
  /** The last seq that somebody, or the timer, wants written. */
  private wantedSeq: number
  private admittedSeq: number
  private acknowledged: Tail
  private readonly begun: Tail
  private readonly waiters = new Waiters()
  private cutting: Cut | undefined
  private timer: NodeJS.Timeout | undefined
  private closing: Promise<void> | undefined

  constructor(
    private readonly lease: Lease,
    private readonly options: WriteBehindOptions,
  ) {
    this.acknowledged = this.begun = copyOf(lease.tail)
    this.wantedSeq = this.admittedSeq = lease.tail.seq
  }

  get durableSeq(): number {
    return this.acknowledged.seq
  }

  /** Where the log ended: at the last acknowledgement, and when the writer began. */
  get tails(): readonly Tail[] {
    return [this.acknowledged, this.begun]
  }

  get digest(): string | undefined {
    const digest: unknown = this.acknowledged.digest
    return typeof digest === 'string' ? digest : undefined
  }

  admit(event: SessionEvent, accompanies = false): void {
    if (this.state.kind !== 'open') throw this.state.refusal
    const { capabilities, pendingSizeBytesMax } = this.options
    const { id } = this.lease.header
    if (event.seq !== this.admittedSeq + 1) {
      const message = `${id}: next seq is ${this.admittedSeq + 1}, not ${event.seq}; nothing was recorded`
      throw new SessionError('TAIL_MOVED', message, { sessionId: id, seq: event.seq })
    }
    const encoded = encodeEvent(event)
    if (isLarger(encoded, capabilities.eventSizeBytesMax))
      throw tooLarge(id, encoded, capabilities.eventSizeBytesMax)
    if (!accompanies && this.hasWork && !this.backlog.hasRoomFor(encoded, pendingSizeBytesMax)) {
      const waiting = `${this.backlog.sizeBytes} bytes wait to be written, at most ${pendingSizeBytesMax} may`
      const message = `${id}: ${waiting}; flush first`
      throw new SessionError('BACK_PRESSURE', message, { sessionId: id, seq: event.seq, pendingSizeBytesMax })
    }
    this.backlog.add(encoded)
    this.admittedSeq = event.seq
    this.schedule()
  }

  flush(): Promise<void> {
    return this.hasWork || this.state.kind === 'over' ? this.writeAll() : Promise.resolve()
  }

  /** Writes what waits, also what waits alone: for a session that is being written anyway, or has a snapshot due. */
  writeAll(): Promise<void> {
    if (this.state.kind === 'over') return Promise.reject(this.state.cause)
    if (this.admittedSeq === this.durableSeq) return Promise.resolve()
    const written = this.waiters.wait(this.admittedSeq)
    this.write(this.admittedSeq)
    return written
  }

  close(): Promise<void> {
    this.closing ??= this.closeOnce()
    return this.closing
  }

  /** Where the log ends at a seq: a batch ends there. Rejects when that is never written. */
  cut(seq: number): Promise<Tail> {
    if (this.durableSeq === seq) return Promise.resolve(this.acknowledged)
    if (this.state.kind === 'over') return Promise.reject(this.state.cause)
    assert(seq > this.durableSeq && seq <= this.admittedSeq, 'a batch ends in what waits')
    return new Promise((resolve, reject) => {
      this.cutting = { seq, resolve: () => resolve(this.acknowledged), reject }
    })
  }

  /** Whether something is to be written, or is being written. */
  private get hasWork(): boolean {
    if (this.admittedSeq === this.durableSeq) return false
    return this.isWriting || !waitsAlone(this.backlog.pending)
  }

  private schedule(): void {
    if (this.timer !== undefined || !this.hasWork) return
    // It keeps the process alive: one that ends by itself, ends after what waits is written.
    this.timer = setTimeout(() => {
      this.timer = undefined
      this.write(this.admittedSeq)
    }, this.options.flushDelayMs)
  }

  private write(through: number): void {
    this.wantedSeq = Math.max(this.wantedSeq, through)
    if (!this.isWriting && this.state.kind !== 'over') void this.writeWanted()
  }

  private async writeWanted(): Promise<void> {
    this.isWriting = true
    while (this.state.kind !== 'over' && this.durableSeq < this.wantedSeq) await this.writeBatch()
    this.isWriting = false
    if (this.state.kind === 'open') this.schedule()
  }

  private async writeBatch(): Promise<void> {
    let batch: readonly EncodedEvent[]
    try {
      if (this.options.permit) await this.options.permit()
      batch = this.takeBatch()
      const { epoch, tail } = this.lease
      const terms = { expectedTail: tail, epoch, batchId: globalThis.crypto.randomUUID() }
      const receipt = await this.lease.append(batch, terms)
      this.refuseUnkept(batch, receipt)
      this.acknowledged = copyOf(receipt.tail)
    } catch (error) {
      this.fail(error)
      return
    }
    this.settle(batch)
  }

  /** Also those that nobody waits for, since they cost no sync of their own. */
  private takeBatch(): readonly EncodedEvent[] {
    const batch = this.backlog.take(this.options.capabilities.batchSizeBytesMax, this.cutting?.seq)
    if (this.options.permit) {
      this.wantedSeq = this.admittedSeq
      this.waiters.extend(batch.at(-1)?.event.seq ?? -1, this.admittedSeq)
    }
    return batch
  }

  /** A storage may be somebody else's: what it does not say it keeps was never acknowledged. */
  private refuseUnkept(batch: readonly EncodedEvent[], { tail, durable }: Receipt): void {
    const lastSeq = batch.at(-1)?.event.seq
    assert(lastSeq !== undefined, 'a batch holds an event')
    if (durable >= lastSeq && tail.seq === lastSeq && this.lease.tail.seq === lastSeq) return
    const sessionId = this.lease.header.id
    const message = `${sessionId}: the storage acknowledged seq ${lastSeq}, and does not say that it keeps it`
    throw new SessionError('STORAGE_FAILED', message, { sessionId, intactThrough: this.durableSeq })
  }

  private settle(batch: readonly EncodedEvent[]): void {
    this.backlog.settle()
    if (this.cutting?.seq === this.durableSeq) {
      this.cutting.resolve()
      this.cutting = undefined
    }
    this.options.onDurable(this.durableSeq, sizeOf(batch))
    this.waiters.settle(this.durableSeq)
  }

  private fail(error: unknown): void {
    const cause = asSessionError(this.lease.header.id, error)
    this.end({ kind: 'over', refusal: refusalAfter(this.lease.header.id, cause), cause })
    this.options.onFailed(cause)
  }

  private end(state: State & { kind: 'over' }): void {
    this.state = state
    clearTimeout(this.timer)
    this.timer = undefined
    this.backlog.clear()
    this.waiters.rejectAll(state.cause)
    this.cutting?.reject(state.cause)
    this.cutting = undefined
  }

  private async closeOnce(): Promise<void> {
    const { id } = this.lease.header
    const disposed = new SessionError('DISPOSED', `${id}: its writer is closed`, { sessionId: id })
    try {
      if (this.state.kind === 'open') {
        this.state = { kind: 'closing', refusal: disposed }
        await this.flush()
        await this.options.onWritten()
      }
    } finally {
      this.end({ kind: 'over', refusal: disposed, cause: disposed })
      this.options.onClosed()
      await this.lease.release()
    }
  }
}

/** The storage may go on with its own object. */
function copyOf({ seq, digest }: Tail): Tail {
  return { seq, digest }
}

function sizeOf(batch: readonly EncodedEvent[]): number {
  return batch.reduce((sum, encoded) => sum + knownSizeBytes(encoded), 0)
}
