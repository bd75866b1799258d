/** Steps of `advance` in which work that is due makes more work that is due. */
const roundsMax = 64

interface Timer {
  readonly dueAt: number
  readonly work: () => void
}

/** Time that goes on by itself a little at each look, and by as much as a test says. */
export class SimulatedClock {
  private readonly timers = new Set<Timer>()

  constructor(private time: number) {}

  /** Without a look. */
  get position(): number {
    return this.time
  }

  now(): number {
    this.time += 1
    return this.time
  }

  later(delayMs: number, work: () => void): () => void {
    const timer = { dueAt: this.time + delayMs, work }
    this.timers.add(timer)
    return () => void this.timers.delete(timer)
  }

  /** Lets time pass, and what is due be done to its end. */
  async advance(durationMs: number): Promise<void> {
    this.time += durationMs
    for (let round = 0; round < roundsMax && this.runDue(); round++) await settled()
    await settled()
  }

  /** Lets time pass without waiting for what is due. */
  skip(durationMs: number): void {
    this.time += durationMs
    this.runDue()
  }

  private runDue(): boolean {
    const due = [...this.timers].filter(({ dueAt }) => dueAt <= this.time)
    for (const timer of due.sort((a, b) => a.dueAt - b.dueAt)) {
      if (this.timers.delete(timer)) timer.work()
    }
    return due.length > 0
  }
}

/** Nothing here waits for the system, so one turn of the event loop ends whatever was begun. */
function settled(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve))
}
