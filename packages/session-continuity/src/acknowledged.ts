import { z } from 'zod'
import type { ChainReading } from './audit-chain.ts'
import type { LifeFacts } from './orphan.ts'
import type { Found, Recorded } from './records.ts'

/** The action of whoever acknowledges an orphan. */
export const acknowledgeAction = 'continuity/acknowledge'

/** What says of an orphan how far it went: what stands in its chain after that, it did not write. */
const noteSchema = z.object({
  incarnation: z.string(),
  number: z.int().min(1).optional(),
  entriesCount: z.int().min(0).optional(),
})

type Note = z.output<typeof noteSchema>

/** What an incarnation is called; of one whose chain does not tell, the number of the chain. */
export function nameOf({ number, incarnation }: Pick<Recorded, 'number' | 'incarnation'>): string {
  return incarnation ?? `chain-${number}`
}

/** What a chain records of an orphan that is acknowledged in it. */
export function noteOf({ number, incarnation, entriesCount }: Recorded) {
  return { incarnation: nameOf({ number, incarnation }), number, entriesCount }
}

/** The orphans that chains acknowledge. */
export class Acknowledged {
  private readonly notes = new Map<string, Note[]>()

  addFrom({ entries }: ChainReading): void {
    for (const { entry } of entries) {
      if (entry.action !== acknowledgeAction) continue
      const note = noteSchema.safeParse(entry.detail).data
      if (note) this.notes.set(note.incarnation, [...(this.notes.get(note.incarnation) ?? []), note])
    }
  }

  judge(found: Found): Found & Pick<LifeFacts, 'isAcknowledged'> {
    const { number, entriesCount } = found
    const notes = (this.notes.get(nameOf(found)) ?? []).filter((note) => (note.number ?? number) === number)
    if (notes.length === 0) return { ...found, isAcknowledged: false }
    const isLonger = notes.some((note) => entriesCount > (note.entriesCount ?? entriesCount))
    if (!isLonger) return { ...found, isAcknowledged: true }
    // It was no more alive than an orphan is, whatever was made of it since.
    return { ...found, fault: found.fault ?? 'extended', hasClosed: false, isAcknowledged: false }
  }
}
