/** How much of a log's end may stay in memory: so many events, of so many bytes as they are stored. */
export interface RetainBounds {
  readonly retainEvents: number
  readonly retainSizeBytes: number
}

/** How much was stored when the log ended so. */
interface Mark {
  readonly seq: number
  readonly sizeBytes: number
}

/** Marks of what may stay: older ones are of no use. */
const marksMax = 4_096

/** Tells where the end of a log begins that is within bounds, from the sizes of what was added to it. */
export class Retained {
  private readonly marks: Mark[] = []
  private isForgetful = false
  private total = 0

  /** Of everything that was told of. */
  get sizeBytes(): number {
    return this.total
  }

  /** The log grew up to and including `seq`, by so many bytes. */
  grown(seq: number, sizeBytes: number): void {
    this.total += sizeBytes
    this.marks.push({ seq, sizeBytes: this.total })
    if (this.marks.length <= marksMax) return
    this.marks.splice(0, marksMax / 2)
    this.isForgetful = true
  }

  /** Of what was told of up to and including `seq`. */
  sizeBytesThrough(seq: number): number {
    return this.marks.findLast((mark) => mark.seq <= seq)?.sizeBytes ?? 0
  }

  /** The first seq that stays of a log of this length. What was added last stays in any case, if anything does. */
  from(length: number, { retainEvents, retainSizeBytes }: RetainBounds): number {
    const keptFrom = Math.min(this.total - retainSizeBytes, this.marks.at(-2)?.sizeBytes ?? 0)
    const old = this.marks.findLast(({ sizeBytes }) => sizeBytes <= keptFrom)
    // Those that are forgotten were older still.
    const large = old ?? (this.isForgetful ? this.marks[0] : undefined)
    return Math.max(0, length - retainEvents, (large?.seq ?? -1) + 1)
  }
}
