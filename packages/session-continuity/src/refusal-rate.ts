import { FairShares } from './fair-shares.ts'

export interface RefusalRateOptions {
  /** Lines of one operation that may be written at once. */
  readonly burstMax: number
  /** Milliseconds for one more line of it. */
  readonly lineMs: number
}

/** Whose line it is: of an operation, by a principal; of nobody who is known, all share one place. */
export interface RefusalPlace {
  readonly operation: string
  readonly principal?: string
}

interface Bucket {
  allowance: number
  refilledAt: number
  suppressed: number
  /** Lines that were gained since the first: the time by which what a principal has used is forgotten. */
  gained: number
  readonly shares: FairShares
}

/** Operations that have a rate of their own; more of them than there are. */
const operationsMax = 64

/**
 * How many refused attempts may be written down.
 *
 * 1. Each operation has a rate of its own, so that a flood of the one leaves room for the other.
 * 2. Of what an operation has left, no principal gets more than it leaves to the others.
 */
export class RefusalRate {
  private readonly buckets = new Map<string, Bucket>()

  constructor(private readonly options: RefusalRateOptions) {}

  /** Attempts that were counted and not written. */
  get suppressed(): number {
    return [...this.buckets.values()].reduce((sum, { suppressed }) => sum + suppressed, 0)
  }

  /** How many of an operation were not written before this one; `undefined` where this one is not written either. */
  take({ operation, principal = '' }: RefusalPlace, time: number): number | undefined {
    const bucket = this.bucketOf(operation, time)
    this.refill(bucket, time)
    const { allowance, gained, shares } = bucket
    if (allowance < 1 || !shares.take(principal, { left: allowance, gained })) {
      bucket.suppressed += 1
      return undefined
    }
    bucket.allowance -= 1
    const { suppressed } = bucket
    bucket.suppressed = 0
    return suppressed
  }

  /** One that there was no room for after all. */
  giveUp(operation: string, suppressed: number): void {
    const bucket = this.buckets.get(this.keyOf(operation))
    if (bucket) bucket.suppressed += suppressed + 1
  }

  /** What was only counted is told of otherwise. */
  settle(): number {
    const { suppressed } = this
    for (const bucket of this.buckets.values()) bucket.suppressed = 0
    return suppressed
  }

  private refill(bucket: Bucket, time: number): void {
    const { burstMax, lineMs } = this.options
    // A clock that steps back gives nothing, and takes nothing.
    const lines = Math.max(0, time - bucket.refilledAt) / lineMs
    if (Number.isFinite(time)) bucket.refilledAt = time
    if (!Number.isFinite(lines)) return
    bucket.gained += lines
    bucket.allowance = Math.min(burstMax, bucket.allowance + lines)
  }

  private bucketOf(operation: string, time: number): Bucket {
    const key = this.keyOf(operation)
    const bucket = this.buckets.get(key) ?? {
      allowance: this.options.burstMax,
      refilledAt: time,
      suppressed: 0,
      gained: 0,
      shares: new FairShares(),
    }
    this.buckets.set(key, bucket)
    return bucket
  }

  /** What has no room shares the last one. */
  private keyOf(operation: string): string {
    return this.buckets.has(operation) || this.buckets.size < operationsMax - 1 ? operation : ''
  }
}
