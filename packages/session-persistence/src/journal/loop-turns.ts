/** How long a process may be held up, in milliseconds, before timers and other work get their turn. */
const heldUpMsMax = 10

/**
 * Lets the event loop turn between calls that are made at once. Promises alone never let it: whoever awaits such calls
 * in a row would keep timers, sockets and acknowledgements waiting for as long as that goes on.
 */
export class LoopTurns {
  /** Of the first call since the loop last turned. */
  private heldUpSince: number | undefined

  /** Makes a call, once the loop has turned if that is due. */
  async make<T>(call: () => T): Promise<T> {
    if (this.isDue()) await new Promise<void>((resolve) => setImmediate(resolve))
    return call()
  }

  private isDue(): boolean {
    if (this.heldUpSince !== undefined) return performance.now() - this.heldUpSince > heldUpMsMax
    this.heldUpSince = performance.now()
    setImmediate(() => {
      this.heldUpSince = undefined
    })
    return false
  }
}
