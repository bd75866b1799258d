import type { SessionHeader } from '@tidemark/session-core'
import type { Tail } from '../../storage.ts'
import type { KnownSnapshot } from './known-snapshot.ts'

/**
 * What a caller knows of a session: it was told so, or it asked for it.
 *
 * - `asked`: to be created; it may be there, with all of `texts`, or not.
 * - `there`: that was acknowledged.
 * - `leaving`: its removal was asked for.
 * - `gone`: its removal was acknowledged.
 */
export interface KnownSession {
  readonly header: SessionHeader
  readonly state: 'asked' | 'there' | 'leaving' | 'gone'
  /** The lines of its events that were acknowledged, from seq 0. */
  readonly texts: readonly string[]
  /** The lines of a batch that was handed over and not acknowledged: there as a whole, or not at all. */
  readonly pending: readonly string[]
  /** The snapshots of it that were ever handed over: any of them may be there, or none. */
  readonly snapshots: readonly KnownSnapshot[]
  /** Where it was said to end after `texts`. */
  readonly tail?: Tail
  /** The highest one that was acknowledged. */
  readonly epoch: number
}

export type Knowledge = ReadonlyMap<string, KnownSession>

/** What a caller knew, and since which operation on the disk. */
export class Ledger {
  private readonly entries: { readonly since: number; readonly knowledge: Knowledge }[]

  constructor(before: Knowledge = new Map()) {
    this.entries = [{ since: 0, knowledge: before }]
  }

  get now(): Knowledge {
    return this.at(Infinity)
  }

  /** What was known when so many operations were done. */
  at(point: number): Knowledge {
    for (let index = this.entries.length - 1; index >= 0; index--) {
      const entry = this.entries[index]
      if (entry && entry.since <= point) return entry.knowledge
    }
    return new Map()
  }

  note(since: number, id: string, session: KnownSession): void {
    this.entries.push({ since, knowledge: new Map(this.now).set(id, session) })
  }
}

/** The same for callers who know the same. */
export function knowledgeKey(knowledge: Knowledge): string {
  return [...knowledge].map(([id, session]) => `${id} ${keyOf(session)}`).join('/')
}

function keyOf({ state, texts, pending, snapshots, epoch }: KnownSession): string {
  const key = `${state} ${texts.length} ${pending.length} ${epoch}`
  return snapshots.length > 0 ? `${key} ${snapshots.length}` : key
}
