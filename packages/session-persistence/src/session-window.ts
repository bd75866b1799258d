import type { Session } from '@tidemark/session-core'
import { encodeSnapshot } from './snapshot-content.ts'
import type { Lease, SnapshotShelf } from './storage.ts'
import type { WriteBehind } from './write-behind.ts'

export interface WindowTerms {
  /** Events since the last snapshot after which another one is taken. */
  readonly snapshotEvents: number
  /** The same in bytes. */
  readonly snapshotSizeBytes: number
  /** Durable events that stay in memory. */
  readonly retainEvents: number
  /** The same in bytes, as they are stored. */
  readonly retainSizeBytes: number
}

/** A clean close takes a snapshot when at least this much came since the last one: less is read as fast. */
const closeSizeBytesMin = 65_536

/** A large state is not written again before so many times its size was appended. */
const growthMin = 4

export interface WindowOptions {
  readonly session: Session
  readonly writer: WriteBehind
  readonly lease: Lease
  readonly shelf: SnapshotShelf
  readonly terms: WindowTerms
  /** The last seq that a snapshot holds already, -1 without one. */
  readonly snapshotSeq: number
  readonly report: (error: unknown) => void
}

/** How much was stored when the log ended so. */
interface Mark {
  readonly seq: number
  readonly sizeBytes: number
}

/** Marks of what may stay in memory: older ones are of no use. */
const marksMax = 4_096

/**
 * Keeps the memory of one living session, and the time of its next resume, from growing with its age.
 *
 * 1. A snapshot is taken of what is durable, in the background, one at a time.
 * 2. An event is let go of once it is durable and a snapshot holds it.
 * 3. A snapshot that cannot be written costs the shortcut, and nothing else.
 */
export class SessionWindow {
  private readonly marks: Mark[] = []
  private isForgetful = false
  private storedSizeBytes = 0
  private lastSeq: number
  private lastSizeBytes = 0
  private stateSizeBytes = 0
  private underWay: Promise<void> | undefined

  constructor(private readonly options: WindowOptions) {
    this.lastSeq = options.snapshotSeq
  }

  /** Called after each acknowledgement. */
  grown(seq: number, sizeBytes: number): void {
    this.storedSizeBytes += sizeBytes
    this.marks.push({ seq, sizeBytes: this.storedSizeBytes })
    if (this.marks.length > marksMax) {
      this.marks.splice(0, marksMax / 2)
      this.isForgetful = true
    }
    if (this.isDue(seq)) this.begin()
  }

  /** Before the lease is given back, with everything durable. */
  async close(): Promise<void> {
    await this.underWay
    const { session, writer } = this.options
    const isWhole = writer.durableSeq === session.log.length - 1
    if (isWhole && this.sinceSizeBytes >= closeSizeBytesMin) await this.take()
  }

  private get sinceSizeBytes(): number {
    return this.storedSizeBytes - this.lastSizeBytes
  }

  private isDue(seq: number): boolean {
    if (this.underWay !== undefined) return false
    const { snapshotEvents, snapshotSizeBytes } = this.options.terms
    const isLong = seq - this.lastSeq >= snapshotEvents || this.sinceSizeBytes >= snapshotSizeBytes
    return isLong && this.sinceSizeBytes >= this.stateSizeBytes * growthMin
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
      await session.loadAll()
      const snapshot = session.snapshot()
      const sizeBytes = this.storedSizeBytes
      const at = writer.cut(snapshot.seq)
      const content = await encodeSnapshot(snapshot, pause)
      await shelf.save(lease, { at: await at, content })
      this.lastSeq = snapshot.seq
      this.lastSizeBytes = sizeBytes
      this.stateSizeBytes = content.length
      this.release()
    } catch (error) {
      report(error)
      this.lastSeq = session.log.length - 1 // not again at once
      this.lastSizeBytes = this.storedSizeBytes
    }
  }

  /** Events in the last snapshot, but for the newest. */
  private release(): void {
    const { session, terms } = this.options
    const keptFrom = this.storedSizeBytes - terms.retainSizeBytes
    const old = this.marks.findLast(({ sizeBytes }) => sizeBytes <= keptFrom)
    // Those that are forgotten were older still.
    const large = old ?? (this.isForgetful ? this.marks[0] : undefined)
    const from = Math.max(session.log.length - terms.retainEvents, (large?.seq ?? -1) + 1)
    session.release(Math.min(from, this.lastSeq + 1))
  }
}

function pause(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
