import type { SessionError } from '@tidemark/session-core'

interface Waiter {
  seq: number
  isExtended: boolean
  readonly resolve: () => void
  readonly reject: (cause: SessionError) => void
}

/** Those who wait until a seq is durable. */
export class Waiters {
  private waiting: Waiter[] = []

  wait(seq: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ seq, isExtended: false, resolve, reject })
    })
  }

  /**
   * Whoever waits for no more than what a batch ends with waits from now on until `seq`. That happens to each once, so
   * that no wait grows with what is appended without end.
   */
  extend(batchSeq: number, seq: number): void {
    for (const waiter of this.waiting) {
      if (waiter.isExtended || waiter.seq > batchSeq) continue
      waiter.seq = seq
      waiter.isExtended = true
    }
  }

  settle(durableSeq: number): void {
    const done = this.waiting.filter(({ seq }) => seq <= durableSeq)
    this.waiting = this.waiting.filter(({ seq }) => seq > durableSeq)
    for (const { resolve } of done) resolve()
  }

  rejectAll(cause: SessionError): void {
    const waiting = this.waiting
    this.waiting = []
    for (const { reject } of waiting) reject(cause)
  }
}
