import { isLarger, type EncodedEvent } from './encoded-event.ts'

/**
 * What waits to be written, and what is being written.
 *
 * 1. Sizes are counted by their cheap bounds, and exactly as soon as a limit is close: no event is refused that fits.
 * 2. A batch never exceeds what one append takes.
 */
export class Backlog {
  private waiting: EncodedEvent[] = []
  private inFlight: readonly EncodedEvent[] = []
  private countedBytes = 0
  private isExact = false

  /** What waits, in order, without what is being written. */
  get pending(): readonly EncodedEvent[] {
    return this.waiting
  }

  /** Of all of it, exactly. */
  get sizeBytes(): number {
    this.count(true)
    return this.countedBytes
  }

  hasRoomFor(encoded: EncodedEvent, sizeBytesMax: number): boolean {
    if (this.countedBytes + encoded.sizeBytesMax <= sizeBytesMax) return true
    if (!this.isExact) this.count(true)
    return !isLarger(encoded, sizeBytesMax - this.countedBytes)
  }

  add(encoded: EncodedEvent): void {
    this.waiting.push(encoded)
    this.countedBytes += this.isExact ? encoded.sizeBytes : encoded.sizeBytesMax
  }

  /** The oldest events that wait, as many as fit, and none after `through`. They count until they are settled. */
  take(sizeBytesMax: number, through = Infinity): readonly EncodedEvent[] {
    const first = this.waiting[0]?.event.seq ?? 0
    const count = Math.min(this.fitting(sizeBytesMax), through - first + 1)
    this.inFlight = this.waiting.slice(0, count)
    this.waiting = this.waiting.slice(count)
    return this.inFlight
  }

  settle(): void {
    this.inFlight = []
    this.count(false)
  }

  clear(): void {
    this.waiting = []
    this.settle()
  }

  private count(isExact: boolean): void {
    this.isExact = isExact
    this.countedBytes = 0
    for (const events of [this.inFlight, this.waiting]) {
      for (const each of events) this.countedBytes += isExact ? each.sizeBytes : each.sizeBytesMax
    }
  }

  private fitting(sizeBytesMax: number): number {
    const { waiting } = this
    if (this.countedBytes <= sizeBytesMax) return waiting.length
    let leftBytes = sizeBytesMax
    const count = waiting.findIndex((encoded) => {
      leftBytes -= encoded.sizeBytes
      return leftBytes < 0
    })
    return count === -1 ? waiting.length : count
  }
}
