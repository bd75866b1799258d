import { refusal } from './refusal.ts'

/** Runs one piece of work after the other, whatever becomes of the one before. */
export class TurnQueue {
  private last: Promise<unknown> = Promise.resolve()
  private count = 0

  constructor(private readonly waitingMax: number) {}

  /** @throws SessionError `BACK_PRESSURE` (`too-many`) when so many wait already. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.count >= this.waitingMax) throw refusal('too-many', `${this.count} calls wait already`)
    this.count += 1
    const turn = this.last.then(work)
    this.last = turn.then(ignore, ignore)
    try {
      return await turn
    } finally {
      this.count -= 1
    }
  }
}

/** Whoever asked hears of it. */
function ignore(): void {}
