/**
 * The part of a cordis 4 context that Tidemark uses. Both `cordis` and `@deepseek-ai/cordis` have it, so one build
 * serves both; the entries `/cordis` and `/deepseek` add Tidemark's services and events to their types.
 */
export interface Host {
  readonly fiber: { assertActive(): void }
  effect(execute: () => unknown, label?: string): () => unknown
  provide(key: string, service: unknown): () => unknown
  get(key: string): unknown
  /** `dispatch` gives the listeners one by one: `parallel` would do, at ten times the price of an append. */
  readonly events: { dispatch(mode: string, args: unknown[]): ((...args: unknown[]) => unknown)[] }
  readonly logger: HostLogger
}

export interface HostLogger {
  error(...args: readonly unknown[]): void
  warn(...args: readonly unknown[]): void
}

const tracker = Symbol.for('cordis.tracker')

/** Lets a service see the context of whoever calls it, as `this.ctx`. The class must use no `#private` fields. */
export function tracked<T extends object>(service: T, key: string): T {
  return Object.defineProperty(service, tracker, { value: { associate: key, property: 'ctx' } })
}
