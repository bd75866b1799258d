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
