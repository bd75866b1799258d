import type { ContinuityReason } from './refusal.ts'

/** Running, cleanly closed and orphaned are three different things; an orphan stays one until somebody says so. */
export type Life = 'running' | 'closed' | 'orphaned' | 'acknowledged'

/** An incarnation that ended without closing. */
export interface Orphan {
  /** Its id; `chain-<number>` where the chain is gone, or does not tell. */
  readonly incarnation: string
  readonly number: number
  readonly principal: string
  /** When its first entry was made, as told. */
  readonly startedAt: number | null
  /** Entries that can be read. */
  readonly entriesCount: number
  /** Whether its chain holds, up to its end. */
  readonly isIntact: boolean
}

export interface LifeFacts {
  /** Whether it lives, as the kernel tells. */
  readonly isHeld: boolean
  /** Whether its chain ends with a clean end. */
  readonly hasClosed: boolean
  /** Whether a chain that holds acknowledges it, as long as it is. */
  readonly isAcknowledged: boolean
}

/** What ended without closing stays an orphan, whatever comes after it and however that ends. */
export function judgeLife({ isHeld, hasClosed, isAcknowledged }: LifeFacts): Life {
  if (isHeld) return 'running'
  if (hasClosed) return 'closed'
  return isAcknowledged ? 'acknowledged' : 'orphaned'
}

/** Whether an incarnation can be acknowledged; a living one cannot, least of all in advance. */
export function judgeAcknowledge(life: Life | undefined): ContinuityReason | undefined {
  switch (life) {
    case 'orphaned':
      return undefined
    case 'running':
      return 'living'
    case 'closed':
    case 'acknowledged':
    case undefined:
      return 'no-orphan'
  }
}
