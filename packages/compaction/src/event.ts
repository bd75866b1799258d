import type { ToolPart } from '@tidemark/session-core'
import type { SummaryAuthor } from './summary-author.ts'
import type { RecordedVerdict } from './verdict.ts'

/** Seqs of the log, both inclusive. */
export interface SeqRange {
  readonly from: number
  readonly through: number
}

export type CompactionTrigger = 'manual' | 'automatic'

/**
 * Why a compaction did not change the transcript. Codes are API: they are added, never renamed.
 *
 * - `ABORTED`: the caller's signal; `UNLOADED`: the plugin went away.
 * - `SUMMARIZER_FAILED`: it threw or rejected; `SUMMARY_TIMEOUT`: it took too long.
 * - `SUMMARY_INVALID`, `SUMMARY_EMPTY`, `SUMMARY_TOO_LARGE`: it gave no text, blank text, or more than the bound.
 * - `SUMMARY_NOT_SMALLER`: the summary would be no smaller than what it replaces.
 * - `SUMMARY_REFUSED`: the session refused to record it, as a redaction may.
 * - `PINS_TOO_LARGE`: the facts that were pinned meanwhile do not fit the budget.
 * - `RANGE_CHANGED`: what stood in the range cannot be replaced any more.
 * - `START_FAILED`: something foreign threw before the summarizer was asked, the caller's signal for one.
 */
export type CompactionErrorCode =
  | 'ABORTED'
  | 'UNLOADED'
  | 'SUMMARIZER_FAILED'
  | 'SUMMARY_TIMEOUT'
  | 'SUMMARY_INVALID'
  | 'SUMMARY_EMPTY'
  | 'SUMMARY_TOO_LARGE'
  | 'SUMMARY_NOT_SMALLER'
  | 'SUMMARY_REFUSED'
  | 'PINS_TOO_LARGE'
  | 'RANGE_CHANGED'
  | 'START_FAILED'

/** Opens a compaction, before the summarizer is called. */
export interface CompactStart {
  readonly id: string
  readonly trigger: CompactionTrigger
  readonly range: SeqRange
  /** Of the transcript at that moment, where the host has a budget in tokens. */
  readonly tokens?: number
  /** Of the transcript, in UTF-8 bytes, where it failed before its tokens were counted; then the range is all of it. */
  readonly sizeBytes?: number
}

/** A fact as it was in force when the compaction was applied. */
export interface CarriedFact {
  readonly key: string
  readonly text: string
  readonly digest?: string
}

/** What the range is to be replaced with. Alone it changes nothing. */
export interface CompactSummary {
  readonly id: string
  readonly text: string
  /** The lowest trust among what was summed up. One that does not say is taken for the lowest of all. */
  readonly author?: SummaryAuthor
  readonly facts: readonly CarriedFact[]
  /** No fact is in force, and an earlier pin or list may stand before the range: the block has to say so. */
  readonly endsFacts?: true
}

/** With outcome `applied`, and only then, the transcript changes here. */
export interface CompactEnd {
  readonly id: string
  readonly outcome: 'applied' | 'failed' | 'cancelled'
  readonly error?: { readonly code: CompactionErrorCode }
  /** Of one that was applied: which facts in force the transcript shows byte for byte. A missing one is a bug. */
  readonly facts?: RecordedVerdict
  /** Of the transcript after it was applied, where the host has a budget in tokens. */
  readonly tokens?: number
  /** They are more than the context: what was appended while the summary was made did not leave room. */
  readonly isOverContext?: true
}

/** What stands in the transcript in the place of a tool's result from here on. */
export interface ToolPruned {
  /** The original stands there. */
  readonly resultSeq: number
  readonly parts: readonly ToolPart[]
  /** SHA-256 of the JSON text of the original's parts, in hex. */
  readonly digest: string
  /** Of the original's parts. */
  readonly sizeBytes: number
}

/** A later pin of the same key takes the place of an earlier one. */
export interface FactPinned {
  readonly key: string
  readonly text: string
  /** SHA-256 of the text as UTF-8, in hex. */
  readonly digest: string
  /** The event that the fact was taken from. */
  readonly sourceSeq?: number
  /** Who pinned it. */
  readonly by: string
}

export interface FactUnpinned {
  readonly key: string
  readonly by: string
  /** Of a labelled line, which may stand in the transcript without its key. */
  readonly text?: string
}

declare module '@tidemark/session-core' {
  interface SessionEventMap {
    'compact/start': CompactStart
    'compact/summary': CompactSummary
    'compact/end': CompactEnd
    'fact/pinned': FactPinned
    'fact/unpinned': FactUnpinned
    'tool/pruned': ToolPruned
  }
}
