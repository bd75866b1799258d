import type { CompactionHost } from './host.ts'

type Listener = (...args: unknown[]) => unknown

/** What compaction tells the host's bus. A listener that throws or rejects is reported, and harms nobody. */
export class Bus {
  constructor(private readonly host: CompactionHost) {}

  tell(event: string, ...args: readonly unknown[]): void {
    for (const listener of this.listenersOf(event, args)) void this.call(listener, args)
  }

  listenersOf(event: string, args: readonly unknown[]): readonly Listener[] {
    try {
      return this.host.events.dispatch('emit', [event, ...args])
    } catch (error) {
      // Others may listen to the dispatch itself.
      this.report(error)
      return []
    }
  }

  report(error: unknown): void {
    try {
      this.host.logger.warn(error)
    } catch {
      return // What is told has happened, also where the host cannot write its own log.
    }
  }

  private async call(listener: Listener, args: readonly unknown[]): Promise<void> {
    try {
      await listener(...args)
    } catch (error) {
      this.report(error)
    }
  }
}
