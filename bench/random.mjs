/** Numbers from a seed: the same everywhere, so that each process makes the same events. */
export class Random {
  constructor(seed) {
    this.a = 0x9e3779b9
    this.b = 0x243f6a88
    this.c = seed | 0
    this.count = 1
    for (let each = 0; each < 12; each++) this.next()
  }

  /** From 0 up to 1, by the sfc32 generator. */
  next() {
    const sum = (((this.a + this.b) | 0) + this.count++) | 0
    this.a = this.b ^ (this.b >>> 9)
    this.b = (this.c + (this.c << 3)) | 0
    this.c = ((this.c << 21) | (this.c >>> 11)) + sum
    return (sum >>> 0) / 0x100000000
  }

  /** A whole number, both ends included. */
  between(min, max) {
    return min + Math.floor(this.next() * (max - min + 1))
  }

  /** Mostly the first ones, as words are in a text. */
  pick(list, skew = 1) {
    return list[Math.floor(list.length * this.next() ** skew)]
  }

  /** Log-normal: half are below the median, one of a hundred is above `p99`. */
  logNormal(median, p99) {
    const spread = Math.log(p99 / median) / 2.3263
    const radius = Math.sqrt(-2 * Math.log(this.next() || 1e-12))
    return Math.round(median * Math.exp(spread * radius * Math.cos(2 * Math.PI * this.next())))
  }

  hex(length) {
    let text = ''
    while (text.length < length)
      text += Math.floor(this.next() * 0x100000000)
        .toString(16)
        .padStart(8, '0')
    return text.slice(0, length)
  }
}
