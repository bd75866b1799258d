/** Numbers that look random and are the same for the same seed. */
export class Random {
  constructor(private state: number) {}

  /** At least 0, less than `limit`, whole. */
  below(limit: number): number {
    return Math.floor(this.next() * limit)
  }

  /** True in `share` of the cases. */
  chance(share: number): boolean {
    return this.next() < share
  }

  private next(): number {
    this.state = (this.state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.state ^ (this.state >>> 15), this.state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
