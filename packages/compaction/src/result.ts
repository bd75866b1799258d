import type { CompactionErrorCode, SeqRange } from './event.ts'

/** Why it did not work. The log keeps the code, never the cause, which may hold anything. */
export interface CompactionFailure {
  readonly code: CompactionErrorCode
  readonly cause?: unknown
}

/** `nothing`: it would not have changed the transcript, or not made it smaller, and no event was written. */
export type CompactionResult =
  | { readonly outcome: 'applied'; readonly id: string; readonly range: SeqRange; readonly seq: number }
  | { readonly outcome: 'nothing' }
  | { readonly outcome: 'failed' | 'cancelled'; readonly id: string; readonly error: CompactionFailure }
