import type { CompactionErrorCode } from './event.ts'
import { sizeBytesOf } from './size.ts'

/** How the asking ended. */
export type Ending =
  | { readonly kind: 'summary'; readonly text: string }
  | { readonly kind: 'failed'; readonly code: CompactionErrorCode; readonly cause?: unknown }
  | { readonly kind: 'cancelled'; readonly code: 'ABORTED' | 'UNLOADED' }

export interface SummaryBounds {
  readonly sizeBytesMax: number
  readonly gainSizeBytesMax: number
}

/** Decides whether an answer can be used. It is foreign: nothing about it is taken on trust. */
export function judgeText(text: unknown, { sizeBytesMax, gainSizeBytesMax }: SummaryBounds): Ending {
  if (typeof text !== 'string') return { kind: 'failed', code: 'SUMMARY_INVALID' }
  if (text.trim() === '') return { kind: 'failed', code: 'SUMMARY_EMPTY' }
  const sizeBytes = sizeBytesOf(text)
  if (sizeBytes > sizeBytesMax) return { kind: 'failed', code: 'SUMMARY_TOO_LARGE' }
  if (sizeBytes > gainSizeBytesMax) return { kind: 'failed', code: 'SUMMARY_NOT_SMALLER' }
  return { kind: 'summary', text }
}
