type StopReason = 'timed-out' | 'stalled' | 'too-large'
type Clock = { readonly timeoutMs: number; readonly stallTimeoutMs: number }

/**
 * When the asking has to end: by the caller's signal, by the clock, because the model says nothing, or too much.
 *
 * 1. It stops once: what stopped it first is what is thrown.
 * 2. After `end` no timer and no listener of it is left, and the model's signal is aborted.
 */
export class Stop {
  private readonly controller = new AbortController()
  private readonly timer: ReturnType<typeof setTimeout>
  private stall: ReturnType<typeof setTimeout> | undefined
  private why: { readonly reason: unknown } | undefined
  private wake: (() => void) | undefined
  private readonly onAbort = (): void => this.stopWith(this.caller.reason)

  constructor(
    private readonly caller: AbortSignal,
    private readonly clock: Clock,
    private readonly refuse: (reason: StopReason) => unknown,
  ) {
    this.timer = setTimeout(() => this.stop('timed-out'), clock.timeoutMs)
    caller.addEventListener('abort', this.onAbort)
    if (caller.aborted) this.onAbort()
  }

  /** What the model is given. */
  get signal(): AbortSignal {
    return this.controller.signal
  }

  /** Calls once, at the stop or at the end; at once when that has been. */
  onStop(listener: () => void): void {
    if (this.signal.aborted) listener()
    else this.signal.addEventListener('abort', listener, { once: true })
  }

  stop(reason: StopReason): void {
    this.stopWith(this.refuse(reason))
  }

  throwIfStopped(): void {
    if (this.why) throw this.why.reason
  }

  /** What `work` gives, or the stop, whether or not `work` heeds the signal. One at a time. */
  async until<T>(work: PromiseLike<T>): Promise<T> {
    const stopped = new Promise<undefined>((resolve) => {
      this.wake = () => resolve(undefined)
      if (this.why) resolve(undefined)
    })
    const first = await Promise.race([work, stopped])
    this.throwIfStopped()
    return first as T
  }

  /** Something came, or is awaited from now on. */
  listen(): void {
    this.quiet()
    if (this.signal.aborted) return
    this.stall = setTimeout(() => this.stop('stalled'), this.clock.stallTimeoutMs)
  }

  /** Nothing is awaited of the model. */
  quiet(): void {
    clearTimeout(this.stall)
  }

  end(): void {
    clearTimeout(this.timer)
    this.quiet()
    this.caller.removeEventListener('abort', this.onAbort)
    this.controller.abort()
  }

  private stopWith(reason: unknown): void {
    if (this.why) return
    this.why = { reason }
    this.wake?.()
    this.controller.abort()
  }
}
