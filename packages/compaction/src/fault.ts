import type { TranscriptMessage } from '@tidemark/session-core'
import type { CompactionErrorCode, CompactSummary, SeqRange } from './event.ts'
import { gainIn } from './gain.ts'
import { judgeText, type SummaryBounds } from './judge.ts'

export interface Effect {
  readonly range: SeqRange
  /** The transcript as it is now. */
  readonly before: readonly TranscriptMessage[]
  /** As the end would leave it. */
  readonly after: readonly TranscriptMessage[]
  readonly bounds: SummaryBounds
}

/**
 * Why a summary that was recorded must not be applied, if anything is the matter: a plan tells what was so when it was
 * made, and meanwhile the range may have shrunk, and a redaction may have changed the text. Pure.
 */
export function faultOf(
  summary: CompactSummary,
  { range, before, after, bounds }: Effect,
): CompactionErrorCode | undefined {
  const replaced = before.filter(({ seq }) => range.from <= seq && seq <= range.through)
  // A message stays the same object until its place in the transcript changes.
  const kept = new Set(after)
  if (replaced.length === 0 || replaced.some((message) => kept.has(message))) return 'RANGE_CHANGED'
  const { tokens, gainSizeBytesMax } = bounds
  const gain = gainIn(replaced, summary.facts, tokens?.tokenizer)
  const judged = judgeText(summary.text, {
    ...bounds,
    gainSizeBytesMax: tokens ? gainSizeBytesMax : gain.sizeBytes,
    ...(tokens && { tokens: { ...tokens, gainMax: gain.tokens } }),
  })
  return judged.kind === 'summary' ? undefined : judged.code
}
