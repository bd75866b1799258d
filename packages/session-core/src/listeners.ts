import type { Host } from './host.ts'

type Listener = (...args: unknown[]) => unknown

/** The lists of listeners by event, as both hosts keep them. */
type Hooks = Readonly<Record<string, readonly unknown[] | undefined>>

/** Who listens on the host's bus. */
export class Listeners {
  private readonly hooks: Hooks | undefined

  constructor(private readonly events: Host['events']) {
    this.hooks = hooksOf(events)
  }

  /** Whether an event reaches nobody, told without asking the bus: that costs as much as the rest of an append. */
  isNone(event: string): boolean {
    const { hooks } = this
    return hooks !== undefined && !hooks[event]?.length && !hooks['internal/dispatch']?.length
  }

  of(event: string, args: readonly unknown[]): Listener[] {
    return this.events.dispatch('emit', [event, ...args])
  }
}

/** Where the listener that each host registers for itself is not found, this is not the table: then the bus is asked. */
function hooksOf(events: Host['events']): Hooks | undefined {
  const { _hooks: hooks } = events as { _hooks?: Hooks }
  const own = typeof hooks === 'object' && hooks !== null ? hooks['internal/listener'] : undefined
  return Array.isArray(own) && own.length > 0 ? hooks : undefined
}
