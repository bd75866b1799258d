export interface RefusalRateOptions {
  /** Lines of one operation that may be written at once. */
  readonly burstMax: number
  /** Milliseconds for one more line of it. */
  readonly lineMs: number
}

interface Bucket {
  allowance: number
  refilledAt: number
  suppressed: number
}

/** Operations that have a rate of their own; more of them than there are. */
const operationsMax = 64

/**
 * How many refused attempts may be written down: each operation has a rate of its own, so that a flood of the one
 * leaves room for the other.
 */
export class RefusalRate {
  private readonly buckets = new Map<string, Bucket>()

  constructor(private readonly options: RefusalRateOptions) {}

  /** Attempts that were counted and not written. */
  get suppressed(): number {
    return [...this.buckets.values()].reduce((sum, { suppressed }) => sum + suppressed, 0)
  }

  /** How many of an operation were not written before this one; `undefined` where this one is not written either. */
  take(operation: string, time: number): number | undefined {
    const bucket = this.bucketOf(operation, time)
    const { burstMax, lineMs } = this.options
    // A clock that steps back gives nothing, and takes nothing.
    const gained = Math.max(0, time - bucket.refilledAt) / lineMs
    if (Number.isFinite(time)) bucket.refilledAt = time
    bucket.allowance = Math.min(burstMax, bucket.allowance + (Number.isFinite(gained) ? gained : 0))
    if (bucket.allowance < 1) {
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

  private bucketOf(operation: string, time: number): Bucket {
    const key = this.keyOf(operation)
    const bucket = this.buckets.get(key) ?? {
      allowance: this.options.burstMax,
      refilledAt: time,
      suppressed: 0,
    }
    this.buckets.set(key, bucket)
    return bucket
  }

  /** What has no room shares the last one. */
  private keyOf(operation: string): string {
    return this.buckets.has(operation) || this.buckets.size < operationsMax - 1 ? operation : ''
  }
}
