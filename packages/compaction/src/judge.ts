import type { CompactionErrorCode } from './event.ts'
import { sizeBytesOf } from './size.ts'
import { tokensOf, type Tokenizer } from './tokenizer.ts'
import { isVisible } from './visible.ts'

/** How the asking ended. */
export type Ending =
  | { readonly kind: 'summary'; readonly text: string }
  | { readonly kind: 'failed'; readonly code: CompactionErrorCode; readonly cause?: unknown }
  | { readonly kind: 'cancelled'; readonly code: 'ABORTED' | 'UNLOADED' }

export interface SummaryBounds {
  readonly sizeBytesMax: number
  readonly gainSizeBytesMax: number
  readonly tokens?: {
    readonly tokenizer: Tokenizer
    readonly summaryMax: number
    readonly gainMax: number
  }
}

/** Decides whether an answer can be used. It is foreign: nothing about it is taken on trust. */
export function judgeText(text: unknown, bounds: SummaryBounds): Ending {
  const { sizeBytesMax, gainSizeBytesMax, tokens } = bounds
  if (typeof text !== 'string') return { kind: 'failed', code: 'SUMMARY_INVALID' }
  if (!isVisible(text)) return { kind: 'failed', code: 'SUMMARY_EMPTY' }
  const sizeBytes = sizeBytesOf(text)
  if (sizeBytes > sizeBytesMax) return { kind: 'failed', code: 'SUMMARY_TOO_LARGE' }
  const count = tokens ? tokensOf(text, tokens.tokenizer) : 0
  // What is no smaller is too large as well, and says less of the summarizer.
  if (tokens && count > tokens.gainMax) return { kind: 'failed', code: 'SUMMARY_NOT_SMALLER' }
  if (tokens && count > tokens.summaryMax) return { kind: 'failed', code: 'SUMMARY_TOO_LARGE' }
  if (sizeBytes > gainSizeBytesMax) return { kind: 'failed', code: 'SUMMARY_NOT_SMALLER' }
  return { kind: 'summary', text }
}
