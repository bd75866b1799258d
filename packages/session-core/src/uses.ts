import type { AnySessionEvent } from './event.ts'

/** The use of a type in a log: what a reader that does not know the type must be told. */
export type TypeUse = Pick<AnySessionEvent, 'seq' | 'type' | 'ignorable' | 'replaces'>

/** Of each type the first use, and each first that asks more of a reader than those before it. At most three. */
export class Uses {
  private readonly byType = new Map<string, readonly TypeUse[]>()
  /** The last of each: kept, since every read of a log asks for it. */
  private readonly last = new Map<string, TypeUse>()

  constructor(uses: Iterable<TypeUse> = []) {
    for (const use of uses) this.add(use)
  }

  /** Each type with the use that asks most. */
  get types(): ReadonlyMap<string, TypeUse> {
    return this.last
  }

  add(use: TypeUse): void {
    const last = this.last.get(use.type)
    if (demand(use) <= demand(last)) return
    const { seq, type, ignorable, replaces } = use
    const kept = { seq, type, ...(ignorable && { ignorable }), ...(replaces && { replaces }) }
    this.byType.set(type, [...(this.byType.get(type) ?? []), kept])
    this.last.set(type, kept)
  }

  /** The uses below `length`, for a log that goes on from there. */
  before(length: number): Uses {
    return new Uses([...this].filter(({ seq }) => seq < length))
  }

  *[Symbol.iterator](): Generator<TypeUse> {
    for (const uses of this.byType.values()) yield* uses
  }
}

/** What an event asks of a reader that does not know its type: nothing, to be told to carry it, or to give up. */
function demand(use: TypeUse | undefined): number {
  if (use === undefined) return 0
  if (use.replaces) return 3
  return use.ignorable ? 1 : 2
}
