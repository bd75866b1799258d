import type { TranscriptMessage } from '@tidemark/session-core'

export interface SummaryRequest {
  /** What is to be replaced, deeply frozen. Earlier summaries and pinned facts stand in it like any message. */
  readonly messages: readonly TranscriptMessage[]
  /** Aborted when the answer is not wanted any more; what is answered later is dropped. */
  readonly signal: AbortSignal
  /** More than this, in UTF-8 bytes, is a failure. */
  readonly sizeBytesMax: number
  /** More than this, in the host's tokens, is a failure as well. Where the host has no budget in tokens, it is not set. */
  readonly tokensMax?: number
}

/**
 * Makes a summary. It may do what it likes, fail and hang: pinned facts do not depend on it, and what it answers is
 * checked before it is used.
 */
export interface Summarizer {
  readonly name: string
  summarize(request: SummaryRequest): { readonly text: string } | PromiseLike<{ readonly text: string }>
}

export function isSummarizer(value: unknown): value is Summarizer {
  return (
    typeof value === 'object' &&
    value !== null &&
    'summarize' in value &&
    typeof value.summarize === 'function'
  )
}
