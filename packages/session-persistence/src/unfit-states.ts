import type { SessionError } from '@tidemark/session-core'

/** The projections whose states no snapshot holds. The host is told of each once, however many sessions it has. */
export class UnfitStates {
  private readonly known = new Set<string>()

  constructor(private readonly report: (error: unknown) => void) {}

  /** Their next snapshots do not wait until they are folded from the log. */
  get names(): ReadonlySet<string> {
    return this.known
  }

  tell(found: readonly SessionError[]): void {
    for (const error of found) {
      const name = String(error.details.name)
      if (this.known.has(name)) continue
      this.known.add(name)
      this.report(error)
    }
  }
}
