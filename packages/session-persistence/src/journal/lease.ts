import {
  isSessionError,
  type SessionError,
  type SessionHeader,
  type SessionRecovered,
} from '@tidemark/session-core'
import { decideAcceptance, type RecentBatches } from '../acceptance.ts'
import type { EncodedEvent } from '../encoded-event.ts'
import type { AppendTerms, Lease, Receipt, Tail } from '../storage.ts'
import { journalCapabilities } from './capabilities.ts'
import { sealCommit } from './commit.ts'
import { afterFailure, failureOf, released, type Failing } from './lease-failure.ts'
import { LeaseHead, type Durability } from './lease-head.ts'
import type { LeaseStart } from './lease-start.ts'
import { leftBy, type LeftLog } from './left-log.ts'
import { glance, look, type OwnSegment } from './own-segment.ts'
import { packedLinesOf } from './runs.ts'
import { Packer } from './packer.ts'
import { rotate, type Place } from './rotation.ts'
import { segmentSizeBytesMax } from './size.ts'
import type { LogName } from './snapshot-envelope.ts'
import { nameOf, toldIn } from './succession.ts'
import { allInTurn, cleanUp, writeAll } from './writing.ts'

/** A lease that lasts packs what earlier ones have left. */
const packDelayMs = 1_000

export interface LeaseTerms {
  readonly durability: Durability
  /** A segment that is larger is followed by another one. Default: `segmentSizeBytesMax`. */
  readonly segmentSizeBytesMax?: number | undefined
  /** Whether sealed segments are packed. Default: true. */
  readonly compress?: boolean | undefined
  /** Called once, when the lease is released. */
  readonly onRelease: (lease: JournalLease) => void
}

/** `over`: every later append meets `error`. */
type State = { readonly kind: 'open' } | { readonly kind: 'over'; readonly error: SessionError }

/**
 * The right to append to the segments of one epoch.
 *
 * 1. One batch is in flight; it is written, synced and looked at before it is acknowledged.
 * 2. After a failure nothing is written or synced through the descriptors again.
 * 3. The descriptors are closed once, and the lock is let go as soon as the lease is over.
 * 4. The head says nothing that was not synced and looked at.
 * 5. A segment is sealed where everything before was synced and looked at, and by a batch that follows it.
 */
export class JournalLease implements Lease {
  readonly epoch: number
  readonly header: SessionHeader
  readonly recovered: readonly SessionRecovered[]
  /** Of the log once it was released; `undefined` where that has to be read. */
  left: LeftLog | undefined
  private end: Tail
  private place: Place
  /** Whose first batch was synced and looked at last. */
  private settled: OwnSegment
  private readonly packer: Packer
  /** Recoveries that no event of the log tells yet. */
  private untold: readonly SessionRecovered[]
  private state: State = { kind: 'open' }
  private inFlight: Promise<unknown> = Promise.resolve()
  private releasing: Promise<void> | undefined
  private commit: Buffer
  private readonly head: LeaseHead
  private callOffPacking: (() => void) | undefined

  private constructor(
    private readonly start: LeaseStart,
    private readonly terms: LeaseTerms,
  ) {
    const { own, salt, session, recovered, tail, offset, provenSeq, commit } = start
    this.epoch = own.name.epoch
    this.header = session
    this.recovered = recovered
    this.end = tail
    this.place = { own, salt, offset }
    this.settled = own
    this.untold = recovered
    this.commit = commit
    own.folder.memory.forget()
    this.packer = new Packer(() => this.settled, terms.compress)
    const standing = { place: () => this.place, end: () => this.end }
    this.head = new LeaseHead(standing, terms.durability, provenSeq)
  }

  /** A lease whose beginning is durable. */
  static async start(start: LeaseStart, terms: LeaseTerms): Promise<JournalLease> {
    const lease = new JournalLease(start, terms)
    if (terms.durability === 'lazy') lease.scheduleHead()
    else await lease.writeFirstHead()
    lease.callOffPacking = start.own.folder.port.later(packDelayMs, () => lease.packer.start())
    return lease
  }

  get tail(): Tail {
    return this.end
  }

  /**
   * What a snapshot needs: the segment that is written now, whose log it is, and where that ended, if it knows. A lease
   * that is over has none.
   */
  forSnapshot(at: Tail): { own: OwnSegment; of: LogName; place: ReturnType<RecentBatches['placeOf']> } {
    if (this.state.kind === 'over') throw this.state.error
    const { recent, log } = this.start
    return { own: this.place.own, of: { session: this.header.id, log }, place: recent.placeOf(at) }
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
    const { recent } = this.start
    const { own } = this.place
    const state = { id: own.folder.id, epoch: this.epoch, tail: this.end, recent }
    const offer = { batch, terms, write: packedLinesOf }
    const acceptance = decideAcceptance(state, offer, journalCapabilities)
    // A stale writer is refused before it writes a byte.
    await this.attempt('STORAGE_FAILED', 'looking for other writers', () => glance(own))
    if (acceptance.kind === 'repeat') {
      await this.attempt('STORAGE_FAILED', 'looking for other writers', () => look(own))
      return { tail: acceptance.tail, durable: this.end.seq }
    }
    await this.write(acceptance.lines, acceptance.tail, terms.batchId)
    const { own: written, offset } = this.place
    const place = { segment: written.name.name, offset }
    recent.add(terms.batchId, { before: this.end, after: acceptance.tail, place })
    this.end = acceptance.tail
    this.hear(batch)
    this.scheduleHead()
    return { tail: this.end, durable: this.end.seq }
  }

  private async write(lines: Uint8Array, tail: Tail, batchId: string): Promise<void> {
    await this.attempt('STORAGE_FAILED', 'going on in another segment', () => this.rotateFull(tail.seq))
    const { own, salt, offset, header } = this.place
    const { seq: durable } = this.end
    const span = { from: durable + 1, to: tail.seq, digest: tail.digest }
    const commit = sealCommit({ ...span, epoch: this.epoch, batchId, durable }, salt)
    const bytes = Buffer.concat(header ? [header, lines, commit] : [lines, commit])
    await this.attempt('STORAGE_FAILED', 'writing a batch', () => writeAll(own.file, bytes, offset))
    this.place = { own, salt, offset: offset + bytes.length }
    this.commit = commit
    await this.attempt('OUTCOME_UNKNOWN', 'syncing a batch', () => own.file.sync())
    if (header)
      await this.attempt('OUTCOME_UNKNOWN', 'syncing a batch', () =>
        own.folder.port.syncFolder(own.folder.path),
      )
    await this.attempt('OUTCOME_UNKNOWN', 'looking for other writers', () => look(own))
    this.head.prove(durable)
    if (this.terms.durability === 'strict' || header)
      await this.attempt('OUTCOME_UNKNOWN', 'writing the head', () => this.head.write(tail))
    if (header === undefined) return
    this.settled = own
    this.packer.start()
  }

  private async rotateFull(to: number): Promise<void> {
    const { offset, own: full } = this.place
    if (offset <= (this.terms.segmentSizeBytesMax ?? segmentSizeBytesMax)) return
    const next = await rotate(this.place, { tail: this.end, to, recovered: this.untold })
    if (next === undefined) return
    this.place = next
    await full.file.close()
  }

  private hear(batch: readonly EncodedEvent[]): void {
    const events = batch.map(({ event }) => event)
    this.start.activity.hear(events)
    if (this.untold.length === 0) return
    const told = toldIn(events)
    this.untold = this.untold.filter((record) => !told.has(nameOf(record)))
  }

  private scheduleHead(): void {
    this.head.schedule(() => void this.inTurn(() => this.writeDueHead()))
  }

  private async writeDueHead(): Promise<void> {
    if (this.state.kind === 'over' || !this.head.isDue) return
    try {
      await this.attempt('STORAGE_FAILED', 'looking for other writers', () => glance(this.place.own))
      await this.attempt('STORAGE_FAILED', 'writing the head', () => this.head.write())
    } catch (error) {
      if (!isSessionError(error)) throw error // the next append meets it
    }
  }

  private async writeFirstHead(): Promise<void> {
    try {
      await this.attempt('STORAGE_FAILED', 'writing the head', () => this.head.write())
    } catch (error) {
      await cleanUp(() => this.place.own.head.close())
      throw error
    }
  }

  /** Whatever fails here ends the lease. */
  private async attempt<T>(code: Failing, what: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (cause) {
      const failed = { id: this.header.id, code, what, cause, endSeq: this.end.seq }
      const error = failureOf(failed)
      this.state = { kind: 'over', error: afterFailure(failed, error) }
      this.packer.abandon()
      await this.start.lock.release() // whoever wants to go on need not wait for this one
      throw error
    }
  }

  private async releaseOnce(): Promise<void> {
    const { lock } = this.start
    const { own } = this.place
    this.head.cancel()
    this.callOffPacking?.()
    this.terms.onRelease(this)
    const isOpen = this.state.kind === 'open'
    if (isOpen) this.state = { kind: 'over', error: released(own.folder.id) }
    await allInTurn('closing a segment', [
      async () => (isOpen ? this.leave() : undefined),
      async () => (isOpen ? this.packer.finish() : this.packer.stop()),
      () => own.file.close(),
      () => own.head.close(),
      () => lock.release(),
    ])
  }

  private async leave(): Promise<void> {
    const { place, end: tail, commit } = this
    if (await this.head.writeLast()) this.left = leftBy({ ...this.start, place, tail, commit })
  }
}
