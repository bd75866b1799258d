import { Retained, type RetainBounds, type Session } from '@tidemark/session-core'
import { lacks, lastSnapshot, type LastSnapshot } from './last-snapshot.ts'
import { encodeSnapshot } from './snapshot-content.ts'
import type { Lease, SnapshotShelf } from './storage.ts'
import type { UnfitStates } from './unfit-states.ts'
import type { WriteBehind } from './write-behind.ts'

export interface WindowTerms extends RetainBounds {
  /** Events since the last snapshot after which another one is taken. */
  readonly snapshotEvents: number
  /** The same in bytes. */
  readonly snapshotSizeBytes: number
}

/** What a resume reads of what is before a snapshot: what a host shows first, and small sessions whole. */
const tailBounds: RetainBounds = { retainEvents: 500, retainSizeBytes: 1_048_576 }

/** A clean close takes a snapshot when at least this much came since the last one: less is read as fast. */
const closeSizeBytesMin = 65_536

/** The same as a share of what the snapshot holds, which is written and read whole. */
const closeShareMin = 1 / 16

export interface WindowOptions {
  readonly session: Session
  readonly writer: WriteBehind
  readonly lease: Lease
  readonly shelf: SnapshotShelf
  readonly terms: WindowTerms
  /** What there is already. */
  readonly snapshot: LastSnapshot
  /** What was read of the log before it was opened. */
  readonly retained?: Retained | undefined
  readonly unfit: UnfitStates
  readonly report: (error: unknown) => void
}

/**
 * Keeps the memory of one living session, and the time of its next resume, from growing with its age.
 *
 * 1. A snapshot is taken of what is durable, in the background, one at a time. States that grow with the log, as a
 *    transcript that nobody compacts, are not written again before the log grew by their size: so what is written is
 *    about twice the log, and what waits for a snapshot no more than they are.
 * 2. An event is let go of once it is durable and a snapshot holds it.
 * 3. A snapshot that cannot be written costs the shortcut, and nothing else. A state that no snapshot can hold costs
 *    that projection's.
 */
export class SessionWindow {
  private readonly retained: Retained
  private last: LastSnapshot
  /** How far the log had grown then. */
  private lastSizeBytes: number
  private underWay: Promise<void> | undefined

  constructor(private readonly options: WindowOptions) {
    const { retained = new Retained(), snapshot } = options
    this.retained = retained
    this.last = snapshot
    this.lastSizeBytes = retained.sizeBytesThrough(snapshot.seq)
  }

  /** Called after each acknowledgement. */
  grown(seq: number, sizeBytes: number): void {
    this.retained.grown(seq, sizeBytes)
    if (this.isDue(seq)) this.begin()
  }

  /** Before the lease is given back, with everything durable but for a boundary that nothing has followed. */
  async close(): Promise<void> {
    await this.underWay
    const sizeBytesMin = Math.max(closeSizeBytesMin, this.last.sizeBytes * closeShareMin)
    if (this.sinceSizeBytes < sizeBytesMin && !this.hasCaughtUp()) return
    const { session, writer } = this.options
    try {
      // A snapshot is one of what is durable, and what this life has read the next one need not read again.
      await writer.writeAll()
    } catch {
      return // the writer has told of it
    }
    if (writer.durableSeq === session.log.length - 1) await this.take()
  }

  /** Whether the whole log was read for a projection that the last snapshot does not hold: once is enough. */
  private hasCaughtUp(): boolean {
    const { session, unfit } = this.options
    return this.last.seq >= 0 && lacks(this.last, session.foldedVersions(), unfit.names)
  }

  private get sinceSizeBytes(): number {
    return this.retained.sizeBytes - this.lastSizeBytes
  }

  private isDue(seq: number): boolean {
    if (this.underWay !== undefined) return false
    const { snapshotEvents, snapshotSizeBytes } = this.options.terms
    const isLong = seq - this.last.seq >= snapshotEvents || this.sinceSizeBytes >= snapshotSizeBytes
    return isLong && this.sinceSizeBytes >= this.last.sizeBytes
  }

  private begin(): void {
    this.underWay = this.take().finally(() => {
      this.underWay = undefined
    })
  }

  private async take(): Promise<void> {
    const { session, writer, lease, shelf, report } = this.options
    try {
      // What was defined too late catches up here, so that the next resume has it.
      await session.loadAll({ except: this.options.unfit.names })
      const snapshot = session.snapshot()
      const { sizeBytes } = this.retained
      const tailSeq = Math.min(this.retained.from(session.log.length, tailBounds), snapshot.seq + 1)
      const at = writer.cut(snapshot.seq)
      const { content, unfit } = await encodeSnapshot(snapshot, tailSeq, pause)
      this.options.unfit.tell(unfit)
      await shelf.save(lease, { at: await at, content }, report)
      this.last = lastSnapshot(snapshot, content.length)
      this.lastSizeBytes = sizeBytes
      this.release()
    } catch (error) {
      report(error)
      this.last = { ...this.last, seq: session.log.length - 1 } // not again at once
      this.lastSizeBytes = this.retained.sizeBytes
    }
  }

  /** Events in the last snapshot, but for the newest. */
  private release(): void {
    const { session, terms } = this.options
    session.release(Math.min(this.retained.from(session.log.length, terms), this.last.seq + 1))
  }
}

function pause(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
