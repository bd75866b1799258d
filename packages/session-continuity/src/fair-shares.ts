/** How fast what was used is forgotten: of each line that is gained, so much. */
const forgottenPerLine = 0.5

interface Used {
  lines: number
  /** What had been gained by then. */
  at: number
}

export interface Room {
  /** Lines that may still be written, by anybody. */
  readonly left: number
  /** Lines that were ever gained; never less than before. */
  readonly gained: number
}

/**
 * Who has used how much of a rate that many share.
 *
 * 1. Nobody uses more than is left for the others: the first one that floods gets half of all, the next one half of the
 *    rest, and whoever comes after them still finds a line.
 * 2. Who has used nothing of late takes no memory: there are no more of them than lines that were used of late.
 */
export class FairShares {
  private readonly users = new Map<string, Used>()
  private sweptAt = 0

  /** Those who are remembered. */
  get size(): number {
    return this.users.size
  }

  /** Whether somebody may use one more line; then it is used. */
  take(user: string, { left, gained }: Room): boolean {
    const lines = this.usedBy(user, gained)
    if (lines >= left) return false
    if (gained - this.sweptAt >= 1) this.sweep(gained)
    this.users.set(user, { lines: lines + 1, at: gained })
    return true
  }

  /** Once for each line that is gained: in a burst nothing is forgotten. */
  private sweep(gained: number): void {
    this.sweptAt = gained
    for (const user of this.users.keys()) if (this.usedBy(user, gained) === 0) this.users.delete(user)
  }

  private usedBy(user: string, gained: number): number {
    const used = this.users.get(user)
    return used ? Math.max(0, used.lines - (gained - used.at) * forgottenPerLine) : 0
  }
}
