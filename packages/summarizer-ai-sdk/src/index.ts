export { aiSdkSummarizer } from './summarizer.ts'
export type { AiSdkSummarizerOptions } from './options.ts'
export type { RefusalReason } from './refusal.ts'
