/** Ranges that are named; further ones are counted only. */
export const seqRangesMax = 100

/** Both ends included. */
export interface SeqRange {
  readonly from: number
  readonly through: number
}

export interface SeqsFound {
  readonly count: number
  /** The first of them, at most `seqRangesMax` ranges. */
  readonly ranges: readonly SeqRange[]
}

/** Collects seqs in rising order. */
export class SeqRanges {
  private count = 0
  private readonly ranges: SeqRange[] = []

  get found(): SeqsFound {
    return { count: this.count, ranges: this.ranges }
  }

  add(from: number, through: number): void {
    this.count += through - from + 1
    const last = this.ranges.at(-1)
    if (last !== undefined && last.through + 1 === from)
      this.ranges[this.ranges.length - 1] = { from: last.from, through }
    else if (this.ranges.length < seqRangesMax) this.ranges.push({ from, through })
  }
}
