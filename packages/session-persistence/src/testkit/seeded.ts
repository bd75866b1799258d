/** Random numbers that come again with the same seed and labels. */
export class Seeded {
  private constructor(private state: number) {}

  static of(seed: number, ...labels: readonly (string | number)[]): Seeded {
    let state = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b)
    for (const character of labels.join('/')) {
      state = Math.imul(state ^ (character.codePointAt(0) ?? 0), 0x01000193)
    }
    return new Seeded(state)
  }

  static resume(state: number): Seeded {
    return new Seeded(state)
  }

  /** What `resume` goes on from. */
  get position(): number {
    return this.state
  }

  /** 0 to 2^32 - 1 (mulberry32). */
  next(): number {
    this.state = (this.state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.state ^ (this.state >>> 15), this.state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return (mixed ^ (mixed >>> 14)) >>> 0
  }

  /** 0 to `limit - 1`. */
  below(limit: number): number {
    return Math.floor((this.next() / 0x1_0000_0000) * limit)
  }

  isOneIn(count: number): boolean {
    return this.below(count) === 0
  }

  pick<T>(items: readonly [T, ...T[]]): T {
    return items[this.below(items.length)] ?? items[0]
  }

  hex(sizeBytes: number): string {
    let digits = ''
    while (digits.length < sizeBytes * 2) digits += this.next().toString(16).padStart(8, '0')
    return digits.slice(0, sizeBytes * 2)
  }

  fill(bytes: Buffer): Buffer {
    for (let index = 0; index < bytes.length; index++) bytes[index] = this.next() & 0xff
    return bytes
  }
}
