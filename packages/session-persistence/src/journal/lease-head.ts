import { isSessionError } from '@tidemark/session-core'
import type { Tail } from '../storage.ts'
import { glance } from './own-segment.ts'
import type { Place } from './rotation.ts'

/**
 * When the durable head is written: `strict` before each acknowledgement, so that damage and a crash can always be
 * told apart; `lazy` at most `headDelayMs` after it.
 */
export type Durability = 'lazy' | 'strict'

const headDelayMs = 1_000

/** How a lease stands. */
export interface Standing {
  readonly place: () => Place
  /** What is acknowledged. */
  readonly end: () => Tail
}

/** When one lease writes its head, and how far that is behind. */
export class LeaseHead {
  private callOff: (() => void) | undefined

  constructor(
    private readonly standing: Standing,
    readonly durability: Durability,
    /** The last seq that something on disk proves durable. */
    private provenSeq: number,
  ) {}

  get isDue(): boolean {
    return this.standing.end().seq > this.provenSeq
  }

  /** A batch that goes on from here says so in its commit. */
  prove(seq: number): void {
    this.provenSeq = seq
  }

  async write({ seq, digest }: Tail = this.standing.end()): Promise<void> {
    const { own, offset } = this.standing.place()
    const strict = this.durability === 'strict'
    await own.head.write({ seq, segment: own.name.name, offset, digest, strict })
    this.provenSeq = seq
  }

  /** A busy writer writes its head as well: the timer does not start anew with each batch. */
  schedule(work: () => void): void {
    if (this.callOff !== undefined || !this.isDue) return
    this.callOff = this.standing.place().own.folder.port.later(headDelayMs, () => {
      this.callOff = undefined
      work()
    })
  }

  cancel(): void {
    this.callOff?.()
  }

  /** False for a session that somebody else took over, or removed: it needs no head of this epoch. */
  async writeLast(): Promise<boolean> {
    try {
      await glance(this.standing.place().own)
    } catch (error) {
      if (!isSessionError(error) || error.code !== 'FENCED') throw error
      return false
    }
    if (this.isDue) await this.write()
    return true
  }
}
