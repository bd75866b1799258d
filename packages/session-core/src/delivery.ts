import { SessionError } from './errors.ts'
import type { Host } from './host.ts'
import { Listeners } from './listeners.ts'

interface Notice {
  readonly event: string
  readonly args: readonly unknown[]
}

/** Events and sessions that listeners add while others are being delivered, before the next one is refused. */
export const nestedAppendsMax = 10_000

/** How long an awaited event waits for its listeners, in milliseconds. */
export const listenersMsMax = 10_000

/**
 * Tells the bus what happened.
 *
 * 1. In order: what a listener causes is told after what it is being told.
 * 2. A listener that throws is reported and harms nobody.
 */
export class Delivery {
  private readonly waiting: Notice[] = []
  private delivering = false
  private nested = 0

  private readonly listeners: Listeners

  constructor(private readonly host: Host) {
    this.listeners = new Listeners(host.events)
  }

  /** @throws SessionError `BACK_PRESSURE` when listeners append or create without end. */
  refuseEndless(): void {
    if (this.nested < nestedAppendsMax) return
    throw new SessionError(
      'BACK_PRESSURE',
      `listeners caused ${nestedAppendsMax} events in one delivery; nothing was recorded`,
    )
  }

  tell(event: string, ...args: readonly unknown[]): void {
    if (!this.delivering && this.listeners.isNone(event)) return
    this.waiting.push({ event, args })
    if (this.delivering) {
      this.nested += 1
      return
    }
    this.delivering = true
    for (let notice = this.waiting.shift(); notice; notice = this.waiting.shift()) void this.deliver(notice)
    this.delivering = false
    this.nested = 0
  }

  /** Like `tell`, at once, and waits for the listeners, but not for ever. */
  async ask(event: string, ...args: readonly unknown[]): Promise<void> {
    const answers = this.deliver({ event, args })
    if (answers.length === 0) return
    let timer: ReturnType<typeof setTimeout> | undefined
    const tooLong = new Promise<void>((resolve) => {
      timer = setTimeout(() => {
        this.report(`a listener of ${event} gave no answer in ${listenersMsMax} ms; going on without it`)
        resolve()
      }, listenersMsMax)
    })
    await Promise.race([Promise.all(answers), tooLong])
    clearTimeout(timer)
  }

  /** Calls each listener; what those that take longer end with. */
  private deliver({ event, args }: Notice): Promise<void>[] {
    const answers: Promise<void>[] = []
    for (const listener of this.listenersOf(event, args)) {
      try {
        const answer = listener(...args)
        if (isPromise(answer)) answers.push(answer.then(nothing, (error: unknown) => this.report(error)))
      } catch (error) {
        this.report(error)
      }
    }
    return answers
  }

  private listenersOf(event: string, args: readonly unknown[]): ((...args: unknown[]) => unknown)[] {
    try {
      return this.listeners.of(event, args)
    } catch (error) {
      // Others may listen to the dispatch itself.
      this.report(error)
      return []
    }
  }

  private report(error: unknown): void {
    try {
      this.host.logger.error(error)
    } catch {
      return // What is told has happened: it must not look undone because the host cannot write its own log.
    }
  }
}

function isPromise(value: unknown): value is Promise<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function'
}

function nothing(): void {
  return undefined
}
