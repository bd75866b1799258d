import type { FactsVerdict } from './verdict.ts'
import type { CompactionErrorCode, CompactionTrigger, SeqRange } from './event.ts'

/** Why it did not work. The log keeps the code, never the cause, which may hold anything. */
export interface CompactionFailure {
  readonly code: CompactionErrorCode
  readonly cause?: unknown
}

/**
 * Why there is nothing to compact. Reasons are API: they are added, never renamed.
 *
 * - `unchanged`: the range holds nothing but an earlier summary and facts.
 * - `too-short`: what could be replaced is not worth a summary.
 * - `held-open`: what is live, a stream or an indivisible bracket for one, leaves nothing that is worth a summary, or
 *   too little.
 * - `too-large-to-retain`: what must stay does not fit the budget beside the facts and a summary.
 * - `within-budget`: the transcript is no larger than the host wants it; `no-budget`: the host has not said.
 */
export type NothingReason =
  'unchanged' | 'too-short' | 'held-open' | 'too-large-to-retain' | 'within-budget' | 'no-budget'

/** What `tidemark/facts-missing` tells: a bug of ours. */
export interface FactsMissing {
  /** Of the compaction. */
  readonly id: string
  readonly keys: readonly string[]
}

/** What `tidemark/compaction` tells of one that ended here. `unrecorded`: the session did not take its end. */
export type CompactionEnded = { readonly trigger: CompactionTrigger } & (
  | Exclude<CompactionResult, { readonly outcome: 'nothing' }>
  | { readonly outcome: 'unrecorded'; readonly id: string; readonly cause: unknown }
)

/** `nothing`: no event was written. */
export type CompactionResult =
  | {
      readonly outcome: 'applied'
      readonly id: string
      readonly range: SeqRange
      readonly seq: number
      readonly facts: FactsVerdict
      /** With what was appended while the summary was made, the transcript takes more than the context. */
      readonly isOverContext?: true
    }
  | { readonly outcome: 'nothing'; readonly reason: NothingReason }
  | { readonly outcome: 'failed' | 'cancelled'; readonly id: string; readonly error: CompactionFailure }
