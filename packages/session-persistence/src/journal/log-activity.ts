import type { AnySessionEvent } from '@tidemark/session-core'
import { foldActivity, noActivity, type Activity } from '../summary.ts'

/** What a holder knows of the use of its log: from what it read of the end, and from what it appended since. */
export class LogActivity {
  private found = noActivity
  private isWhole = false

  /** Nothing is before what is heard. */
  beginsTheLog(): this {
    this.isWhole = true
    return this
  }

  /** Events that follow those before. */
  hear(events: readonly AnySessionEvent[]): void {
    const last = events.at(-1)
    // Most are pieces of a stream.
    for (const event of events)
      if (event === last || event.type === 'user/message') this.found = foldActivity(this.found, event)
  }

  /** Of a log that ends at this seq; `undefined` where something of it stands in what was not heard. */
  at(seq: number): Activity | undefined {
    const isTold = this.isWhole || this.found.lastHumanTime !== undefined
    return isTold && this.found.lastSeq === seq ? this.found : undefined
  }
}
