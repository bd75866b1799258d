import { SessionError } from './errors.ts'

interface Owned<T> {
  readonly owner: string
  /** One for each loaded instance of the owner; the newest counts. */
  readonly values: T[]
}

/** Names of one kind, each belonging to one owner, who may hold it several times. */
export class OwnedNames<T> {
  private readonly names = new Map<string, Owned<T>>()

  constructor(private readonly kind: string) {}

  has(name: string): boolean {
    return this.names.has(name)
  }

  find(name: string): T | undefined {
    return this.names.get(name)?.values.at(-1)
  }

  ownerOf(name: string): string | undefined {
    return this.names.get(name)?.owner
  }

  /** How many instances hold the name. */
  count(name: string): number {
    return this.names.get(name)?.values.length ?? 0
  }

  *newest(): Generator<T> {
    for (const { values } of this.names.values()) yield values.at(-1) as T
  }

  *entries(): Generator<[string, T]> {
    for (const [name, { values }] of this.names) yield [name, values.at(-1) as T]
  }

  /** @throws SessionError `OWNED` when the name belongs to another owner. */
  refuseForeign(name: string, owner: string): void {
    const held = this.names.get(name)
    if (held === undefined || held.owner === owner) return
    const message = `${this.kind} ${name} belongs to ${held.owner}; ${owner} cannot define it`
    throw new SessionError('OWNED', message, { owner: held.owner })
  }

  /** Adds one instance, until the returned function is called. */
  hold(name: string, owner: string, value: T): () => void {
    const held = this.names.get(name) ?? { owner, values: [] }
    this.names.set(name, held)
    held.values.push(value)
    return () => {
      held.values.splice(held.values.lastIndexOf(value), 1)
      if (held.values.length === 0) this.names.delete(name)
    }
  }
}
