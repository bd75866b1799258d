import { PageBuilder } from '@tidemark/session-core'
import type { AnySessionEvent, HistorySource, HistoryTerms } from '@tidemark/session-core'
import { refuseOtherLog } from './own-log.ts'
import type { SessionStorage, Tail } from './storage.ts'
import { asUnknown, untilStill } from './stored-session.ts'

/**
 * The events of a stored session, in pages that are read from the storage when they are asked for. `tails`: where the log
 * ended when it was read or written, best first. A page is given out only if the log that it was read from is that one.
 */
export class StoredHistory implements HistorySource {
  constructor(
    private readonly id: string,
    private readonly storage: SessionStorage,
    private readonly tails: () => readonly Tail[] = () => [],
  ) {}

  page(terms: HistoryTerms): Promise<readonly AnySessionEvent[]> {
    const { from, through, order, countMax } = terms
    if (from > through) return Promise.resolve([])
    const isForward = order === 'forward'
    const range = isForward
      ? { from, through: Math.min(through, from + countMax - 1) }
      : { from: Math.max(from, through - countMax + 1), through }
    return untilStill(this.id, async () => {
      const events = this.eventsOf(range)
      const page = await (isForward ? firstOf(events, terms) : lastOf(events, terms))
      // Afterwards: what is there by then was there before, since nothing comes back that was removed.
      await refuseOtherLog(
        this.id,
        this.storage,
        this.tails().filter(({ seq }) => seq >= range.through),
      )
      return page
    })
  }

  private async *eventsOf(range: { from: number; through: number }): AsyncGenerator<AnySessionEvent, void> {
    const { batches } = await asUnknown(this.id, () => this.storage.read(this.id, range))
    for await (const { events } of batches) yield* events
  }
}

async function firstOf(
  events: AsyncIterable<AnySessionEvent>,
  terms: HistoryTerms,
): Promise<readonly AnySessionEvent[]> {
  const page = new PageBuilder<AnySessionEvent>(terms)
  for await (const event of events) if (!page.add(event, sizeOf(event))) break
  return page.found
}

/** Holds no more than fits, whatever comes before it. */
async function lastOf(
  events: AsyncIterable<AnySessionEvent>,
  { sizeBytesMax }: HistoryTerms,
): Promise<readonly AnySessionEvent[]> {
  const held: { readonly event: AnySessionEvent; readonly sizeBytes: number }[] = []
  let heldSizeBytes = 0
  for await (const event of events) {
    const sizeBytes = sizeOf(event)
    held.push({ event, sizeBytes })
    heldSizeBytes += sizeBytes
    while (held.length > 1 && heldSizeBytes > sizeBytesMax) heldSizeBytes -= held.shift()?.sizeBytes ?? 0
  }
  return held.map(({ event }) => event)
}

function sizeOf(event: AnySessionEvent): number {
  return JSON.stringify(event).length
}
