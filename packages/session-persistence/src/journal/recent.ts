/** Values that are remembered at the same time. */
const countMax = 64

/** How long, in milliseconds: the steps of one operation ask for the same. */
const recentMs = 2_000

interface Kept<T> {
  readonly value: T
  readonly at: number
}

/** What was asked for a moment ago, by name. */
export class Recent<T> {
  private readonly all = new Map<string, Kept<T>>()

  constructor(private readonly clock: { now(): number }) {}

  find(name: string): T | undefined {
    const kept = this.all.get(name)
    return kept && Math.abs(this.clock.now() - kept.at) < recentMs ? kept.value : undefined
  }

  keep(name: string, value: T): T {
    this.all.delete(name) // the newest is the last to go
    this.all.set(name, { value, at: this.clock.now() })
    for (const oldest of this.all.keys()) {
      if (this.all.size <= countMax) break
      this.all.delete(oldest)
    }
    return value
  }
}
