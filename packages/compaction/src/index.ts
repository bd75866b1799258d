// `export *` where event payloads are merged into the interface of session-core.
export * from './event.ts'
export { compaction } from './bracket.ts'
export { automaticAttempts, compactions } from './compactions.ts'
export type { Attempts, CompactionFate, CompactionRecord, CompactionsState } from './compactions.ts'
export type { CompactionStatus, OverBudget, OverBudgetReason, OverBudgetRefused } from './status.ts'
export { factsDigestOf, type FactsVerdict, type RecordedVerdict } from './verdict.ts'
export type { PruneOptions, PruneResult } from './prune.ts'
export { authorizeFactMsMax } from './grant.ts'
export type { AuthorizeFactRequest, FactQuestion } from './grant.ts'
export { facts, factsWith } from './fact.ts'
export type { FactProblem, FactProblemReason, FactsState, PinnedFact } from './fact.ts'
export type { FactProblems, FactProblemsFound } from './fact-problems.ts'
export { labelledLines, labelsDefault, type LabelledLine } from './label.ts'
export { Compaction, type CompactOptions, type PlanOptions } from './compaction.ts'
export type { CompactionPlan, PlanTokens } from './plan.ts'
export type {
  CompactionEnded,
  CompactionFailure,
  CompactionResult,
  FactsMissing,
  NothingReason,
} from './result.ts'
export type { PinInput } from './pin.ts'
export type { Summarizer, SummaryRequest } from './summarizer.ts'
export type { Tokenizer } from './tokenizer.ts'
export { o200k } from './o200k.ts'
export { messagesTokens } from './token-count.ts'
export { extractive } from './extractive/extractive.ts'
export type { SummaryAuthor } from './summary-author.ts'
export { findSummary } from './rendering.ts'
export { Config } from './config.ts'
export { apply, inject, name } from './plugin.ts'
export type { CompactionHost } from './host.ts'
