import type { Authentication } from './authenticator.ts'
import type { Grants } from './grants.ts'
import type { Handle } from './handle.ts'
import type { Labels } from './label.ts'
import { refusal } from './refusal.ts'
import type { Refusals } from './refusals.ts'
import type { Rules } from './rules.ts'
import type { SessionLabels } from './session-labels.ts'
import type { SessionOpenings } from './session-openings.ts'
import type { ContinuityStore } from './store.ts'

/** What every part of the service goes by. */
export interface Terms {
  readonly store: ContinuityStore
  /** Closes what is ours of it. */
  readonly closeStore: () => Promise<void>
  readonly labels: Labels
  readonly authentication: Authentication
  readonly grants: Grants
  readonly refusals: Refusals
  readonly rules: Rules
  readonly now: () => number
  readonly clockToleranceMs: number
  /** Handles that are open in this process. */
  readonly handles: HandleBook
  readonly sessionLabels: SessionLabels
  readonly openings: SessionOpenings
  readonly report: (error: unknown) => void
}

/** The handles of this service: an object that is not in it is no handle, whatever it looks like. */
export class HandleBook {
  private readonly open = new Set<Handle>()
  private isClosing = false
  private comingCount = 0
  /** Policy states whose generation ends, by how many ways at a time. */
  private readonly held = new Map<string, number>()

  constructor(private readonly countMax: number) {}

  get isOver(): boolean {
    return this.isClosing
  }

  /**
   * Keeps a place for a handle that is about to be opened, while the work lasts.
   * @throws SessionError `BACK_PRESSURE` (`too-many`).
   */
  async within<T>(work: () => Promise<T>): Promise<T> {
    if (this.open.size + this.comingCount >= this.countMax)
      throw refusal('too-many', 'too many handles are open in this process')
    this.comingCount += 1
    try {
      return await work()
    } finally {
      this.comingCount -= 1
    }
  }

  [Symbol.iterator](): IterableIterator<Handle> {
    return this.open.values()
  }

  add(handle: Handle): void {
    this.open.add(handle)
  }

  find(value: unknown): Handle | undefined {
    const handle = value as Handle
    return this.open.has(handle) ? handle : undefined
  }

  /** Until the returned function is called, no session is opened as a handle that goes by this policy state. */
  hold(key: string): () => void {
    this.held.set(key, (this.held.get(key) ?? 0) + 1)
    return () => {
      const left = (this.held.get(key) ?? 1) - 1
      if (left > 0) this.held.set(key, left)
      else this.held.delete(key)
    }
  }

  /** Whether a session may be opened as a handle: what it holds could be written when the handle ends. */
  mayOpenAs(handle: Handle): boolean {
    const isHeld = [...this.held.keys()].some((key) => handle.generationOf(key) !== undefined)
    return handle.isOpen && !isHeld
  }

  drop(handle: Handle): void {
    this.open.delete(handle)
  }

  /** Nothing is opened from now on; what is open. */
  close(): readonly Handle[] {
    this.isClosing = true
    return [...this.open]
  }
}
