import type { Refused } from './refusals.ts'
import type { StoreIdentity } from './store-identity.ts'

/**
 * Where continuity is kept. Whoever implements it promises:
 *
 * 1. What a call resolved with is durable.
 * 2. Of two that replace the same value one succeeds, whatever process they run in, and no death leaves a cell that
 *    cannot be read or replaced.
 * 3. What cannot be read without doubt is told as damaged, and never as missing.
 * 4. A hold ends when its process does, and not before.
 *
 * Every call rejects with `STORAGE_FAILED` (`unavailable`) when the medium fails.
 */
export interface ContinuityStore {
  identify(): Promise<StoreIdentity>
  /**
   * Makes what is missing of the store, and of the witness, bear this id, and, where an id is given, what is damaged;
   * gives the id that both bear then. Without one: the id that they bear, or a new one, which nobody can guess. An id is
   * 32 lower-case hexadecimal digits.
   */
  establish(storeId: string | undefined): Promise<string>
  /** The policy state of one key, 64 lower-case hexadecimal digits: one for each principal of a scope. */
  state(place: ScopePlace & { readonly key: string }): Cell
  /** The witness of one scope: kept apart from the states. */
  witness(place: ScopePlace): Cell
  audit(place: ScopePlace): AuditShelf
  readonly refusals: RefusalSink
  close(): Promise<void>
}

export interface ScopePlace {
  readonly storeId: string
  readonly scope: string
}

/** What a cell holds; `number` counts its values, and goes on where one is damaged. */
export type CellFound =
  | { readonly kind: 'missing'; readonly number: 0 }
  | { readonly kind: 'damaged'; readonly number: number }
  | {
      readonly kind: 'found'
      readonly number: number
      readonly value: unknown
      /** There are values with numbers that nobody counted to: they are not gone by. */
      readonly hasStrays?: boolean
    }

export interface ReadTerms {
  /** A number that is known to have been given: what counts is near it. */
  readonly known?: number | undefined
}

export interface ReplaceTerms {
  /** The number that the value was decided upon. */
  readonly expected: number
  /** The new number is higher than this one. */
  readonly above?: number
}

/** A value under compare-and-swap. */
export interface Cell {
  read(terms?: ReadTerms): Promise<CellFound>
  /** The new number; `undefined` when somebody else was faster. */
  replace(value: unknown, terms: ReplaceTerms): Promise<number | undefined>
  /** Makes durable what `read` found, though its writer may not have come so far. */
  settle(): Promise<void>
  /** Every value that is left and proves itself, older ones too. */
  provable(): Promise<readonly unknown[]>
}

/** The audit files of one scope. What is handed over as a line brings its LF; `read` gives the bytes as they are. */
export interface AuditShelf {
  /** In ascending order. */
  numbers(): Promise<readonly number[]>
  /** `undefined` where there is none. */
  read(number: number): Promise<Uint8Array | undefined>
  /** A file that begins with this line, LF and all; `undefined` when the number is taken. */
  create(number: number, line: string): Promise<AuditWriter | undefined>
  /** Holds the name of an incarnation until it is released, or the process ends. */
  hold(incarnation: string): Promise<() => Promise<void>>
  isHeld(incarnation: string): Promise<boolean>
  /** Clears away what a dead holder left. */
  forget(incarnation: string): Promise<void>
  /** Waits a little: others are at it. */
  pause(): Promise<void>
}

/**
 * One writer at a time appends to it; after a failure, nobody. How large a file may grow is the store's to say
 * (`auditSizeBytesMax` of the one in files). Where a line does not fit, `append` rejects with `BACK_PRESSURE`
 * (`too-many`) and writes nothing: then the host opens a new incarnation.
 */
export interface AuditWriter {
  /** Resolves when the line, which brings its LF, is durable. The last one has room also where the file is full. */
  append(line: string, terms?: { readonly isLast: boolean }): Promise<void>
  close(): Promise<void>
}

/** A bounded place for refused attempts. */
export interface RefusalSink {
  /** @throws whatever the medium fails with: nothing waits for it. */
  write(refused: readonly Refused[]): Promise<void>
}
