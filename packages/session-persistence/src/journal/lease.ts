import {
  SessionError,
  isSessionError,
  type SessionHeader,
  type SessionRecovered,
} from '@tidemark/session-core'
import { decideAcceptance, type RecentBatches } from '../acceptance.ts'
import type { EncodedEvent } from '../encoded-event.ts'
import type { AppendTerms, Lease, Receipt, StorageCapabilities, Tail } from '../storage.ts'
import type { Begun } from './beginning.ts'
import { commitSizeBytesMax, sealCommit } from './commit.ts'
import type { SessionLock } from './lock.ts'
import { glance, look, type OwnSegment } from './own-segment.ts'
import { batchSizeBytesMax } from './size.ts'
import { allInTurn, cleanUp, writeAll } from './writing.ts'

export const journalCapabilities: StorageCapabilities = {
  isShared: true,
  isDurable: true,
  hasSnapshots: false,
  eventSizeBytesMax: batchSizeBytesMax - commitSizeBytesMax,
  batchSizeBytesMax: batchSizeBytesMax - commitSizeBytesMax,
}

/**
 * When the durable head is written: `strict` before each acknowledgement, so that damage and a crash can always be
 * told apart; `lazy` at most `headDelayMs` after it.
 */
export type Durability = 'lazy' | 'strict'

const headDelayMs = 1_000

/** A lease as it begins: its segment holds a header and a first batch, synced and looked at. */
export interface LeaseStart extends Begun {
  readonly own: OwnSegment
  readonly lock: SessionLock
  readonly session: SessionHeader
  readonly recovered: readonly SessionRecovered[]
  readonly recent: RecentBatches
}

export interface LeaseTerms {
  readonly durability: Durability
  /** Called once, when the lease is released. */
  readonly onRelease: (lease: JournalLease) => void
}

/** `over`: every later append meets `error`. */
type State = { readonly kind: 'open' } | { readonly kind: 'over'; readonly error: SessionError }

type Failing = 'STORAGE_FAILED' | 'OUTCOME_UNKNOWN'

/**
 * The right to append to one segment.
 *
 * 1. One batch is in flight; it is written, synced and looked at before it is acknowledged.
 * 2. After a failure nothing is written or synced through the descriptors again.
 * 3. The descriptors are closed once, and the lock is let go as soon as the lease is over.
 * 4. The head says nothing that was not synced and looked at.
 */
export class JournalLease implements Lease {
  readonly epoch: number
  readonly header: SessionHeader
  readonly recovered: readonly SessionRecovered[]
  private end: Tail
  private offset: number
  private state: State = { kind: 'open' }
  private inFlight: Promise<unknown> = Promise.resolve()
  private releasing: Promise<void> | undefined
  /** The last seq that something on disk proves durable. */
  private provenSeq: number
  private callOff: (() => void) | undefined

  private constructor(
    private readonly start: LeaseStart,
    private readonly terms: LeaseTerms,
  ) {
    const { own, session, recovered, tail, offset, provenSeq } = start
    this.epoch = own.name.epoch
    this.header = session
    this.recovered = recovered
    this.end = tail
    this.offset = offset
    this.provenSeq = provenSeq
  }

  /** A lease whose beginning is durable. */
  static async start(start: LeaseStart, terms: LeaseTerms): Promise<JournalLease> {
    const lease = new JournalLease(start, terms)
    if (terms.durability === 'lazy') lease.scheduleHead()
    else await lease.writeFirstHead()
    return lease
  }

  get tail(): Tail {
    return this.end
  }

  append(batch: readonly EncodedEvent[], terms: AppendTerms): Promise<Receipt> {
    return this.inTurn(() => this.appendNext(batch, terms))
  }

  release(): Promise<void> {
    this.releasing ??= this.inTurn(() => this.releaseOnce())
    return this.releasing
  }

  private inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.inFlight.then(work)
    this.inFlight = done.catch(() => undefined) // whoever called hears of it
    return done
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
    this.scheduleHead()
    return { tail: this.end, durable: this.end.seq }
  }

  private async write(lines: Uint8Array, tail: Tail, batchId: string): Promise<void> {
    const { own, salt } = this.start
    const { seq: durable } = this.end
    const span = { from: durable + 1, to: tail.seq, digest: tail.digest }
    const bytes = Buffer.concat([lines, sealCommit({ ...span, epoch: this.epoch, batchId, durable }, salt)])
    await this.attempt('STORAGE_FAILED', 'writing a batch', () => writeAll(own.file, bytes, this.offset))
    this.offset += bytes.length
    await this.attempt('OUTCOME_UNKNOWN', 'syncing a batch', () => own.file.sync())
    await this.attempt('OUTCOME_UNKNOWN', 'looking for other writers', () => look(own))
    this.provenSeq = durable
    if (this.terms.durability === 'strict')
      await this.attempt('OUTCOME_UNKNOWN', 'writing the head', () => this.writeHead(tail))
  }

  /** A busy writer writes its head as well: the timer does not start anew with each batch. */
  private scheduleHead(): void {
    if (this.callOff !== undefined || this.end.seq <= this.provenSeq) return
    this.callOff = this.start.own.folder.port.later(headDelayMs, () => {
      this.callOff = undefined
      void this.inTurn(() => this.writeDueHead())
    })
  }

  private async writeDueHead(): Promise<void> {
    if (this.state.kind === 'over' || this.end.seq <= this.provenSeq) return
    try {
      await this.attempt('STORAGE_FAILED', 'looking for other writers', () => glance(this.start.own))
      await this.attempt('STORAGE_FAILED', 'writing the head', () => this.writeHead())
    } catch (error) {
      if (!isSessionError(error)) throw error // the next append meets it
    }
  }

  /** A session that somebody else took over, or removed, needs no head of this epoch. */
  private async writeLastHead(): Promise<void> {
    if (this.end.seq <= this.provenSeq) return
    try {
      await glance(this.start.own)
    } catch (error) {
      if (!isSessionError(error) || error.code !== 'FENCED') throw error
      return
    }
    await this.writeHead()
  }

  private async writeFirstHead(): Promise<void> {
    try {
      await this.attempt('STORAGE_FAILED', 'writing the head', () => this.writeHead())
    } catch (error) {
      await cleanUp(() => this.start.own.head.close())
      throw error
    }
  }

  private async writeHead({ seq, digest }: Tail = this.end): Promise<void> {
    const { name } = this.start.own.name
    const strict = this.terms.durability === 'strict'
    await this.start.own.head.write({ seq, segment: name, offset: this.offset, digest, strict })
    this.provenSeq = seq
  }

  /** Whatever fails here ends the lease. */
  private async attempt<T>(code: Failing, what: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (cause) {
      const error = this.describe(code, what, cause)
      this.state = { kind: 'over', error: error.code === 'FENCED' ? error : this.over(error) }
      await this.start.lock.release() // whoever wants to go on need not wait for this one
      throw error
    }
  }

  private describe(code: Failing, what: string, cause: unknown): SessionError {
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
    const { own, lock } = this.start
    this.callOff?.()
    this.terms.onRelease(this)
    const isOpen = this.state.kind === 'open'
    if (isOpen) this.state = { kind: 'over', error: released(own.folder.id) }
    await allInTurn('closing a segment', [
      async () => (isOpen ? this.writeLastHead() : undefined),
      () => own.file.close(),
      () => this.start.own.head.close(),
      () => lock.release(),
    ])
  }
}

function released(sessionId: string): SessionError {
  return new SessionError('DISPOSED', `${sessionId}: this lease was released`)
}
