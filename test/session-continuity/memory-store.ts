import { randomBytes } from 'node:crypto'
import type {
  AuditShelf,
  AuditWriter,
  Cell,
  CellFound,
  ContinuityStore,
  Refused,
  ReplaceTerms,
  ScopePlace,
  StoreIdentity,
} from '@tidemark/session-continuity'
import { refusal } from '@tidemark/session-continuity'

interface Entry {
  readonly number: number
  readonly json: string
}

/** What stays when a store is closed: as a database would, for all stores that are opened on it. */
export class Memory {
  id: string | undefined
  readonly cells = new Map<string, Entry[]>()
  readonly chains = new Map<string, Map<number, string>>()
  readonly held = new Map<string, MemoryStore>()
  readonly refused: Refused[] = []
  isBroken = false

  /** A store as another process has it. */
  open(): MemoryStore {
    return new MemoryStore(this)
  }
}

/** The shortest store that keeps the contract: what somebody writes who brings a database. */
export class MemoryStore implements ContinuityStore {
  isClosed = false
  readonly refusals = {
    write: async (refused: readonly Refused[]): Promise<void> => void this.memory.refused.push(...refused),
  }

  constructor(private readonly memory: Memory) {}

  async identify(): Promise<StoreIdentity> {
    this.refuseBroken()
    const { id, cells } = this.memory
    return { storeId: id, witnessedId: id, isEmpty: cells.size === 0 }
  }

  async establish(storeId: string | undefined): Promise<string> {
    this.refuseBroken()
    return (this.memory.id ??= storeId ?? randomBytes(16).toString('hex'))
  }

  state({ scope, key }: ScopePlace & { readonly key: string }): Cell {
    return this.cell(JSON.stringify(['state', scope, key]))
  }

  witness({ scope }: ScopePlace): Cell {
    return this.cell(JSON.stringify(['witness', scope]))
  }

  audit({ scope }: ScopePlace): AuditShelf {
    const { chains, held } = this.memory
    const chain = (): Map<number, string> => chains.get(scope) ?? new Map<number, string>()
    const nameOf = (incarnation: string): string => JSON.stringify([scope, incarnation])
    return {
      numbers: async () => [...chain().keys()].sort((a, b) => a - b),
      read: async (number) => {
        this.refuseBroken()
        const text = chain().get(number)
        return text === undefined ? undefined : Buffer.from(text)
      },
      create: async (number, line) => {
        this.refuseBroken()
        if (chain().has(number)) return undefined
        chains.set(scope, chain().set(number, line))
        return this.writerOf(chain(), number)
      },
      hold: async (incarnation) => {
        held.set(nameOf(incarnation), this)
        return async () => void held.delete(nameOf(incarnation))
      },
      isHeld: async (incarnation) => held.has(nameOf(incarnation)),
      forget: async () => {},
      pause: () => new Promise(setImmediate),
    }
  }

  async close(): Promise<void> {
    this.isClosed = true
  }

  /** As the end of the process does. */
  die(): void {
    for (const [name, holder] of this.memory.held) if (holder === this) this.memory.held.delete(name)
  }

  private writerOf(chain: Map<number, string>, number: number): AuditWriter {
    return {
      append: async (line) => {
        this.refuseBroken()
        chain.set(number, `${chain.get(number)}${line}`)
      },
      close: async () => {},
    }
  }

  private cell(name: string): Cell {
    const values = (): Entry[] => this.memory.cells.get(name) ?? []
    const read = async (): Promise<CellFound> => {
      this.refuseBroken()
      const last = values().at(-1)
      if (!last) return { kind: 'missing', number: 0 }
      return { kind: 'found', number: last.number, value: JSON.parse(last.json) as unknown }
    }
    const replace = async (value: unknown, { expected, above = 0 }: ReplaceTerms) => {
      this.refuseBroken()
      if ((values().at(-1)?.number ?? 0) !== expected) return undefined
      const number = Math.max(expected, above) + 1
      this.memory.cells.set(name, [{ number, json: JSON.stringify(value) }])
      return number
    }
    const provable = async (): Promise<unknown[]> => values().map(({ json }) => JSON.parse(json) as unknown)
    return { read, replace, provable, settle: async () => {} }
  }

  private refuseBroken(): void {
    if (this.memory.isBroken) throw refusal('unavailable', 'the database does not answer')
  }
}
