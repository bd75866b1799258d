import { isEvent, type RenderedMessage, type Replacement, type SessionEvent } from '@tidemark/session-core'
import type { CompactSummary } from './event.ts'
import { factsBlock, summaryMessage } from './rendering.ts'

/**
 * What a closed compaction puts in the place of its range: the facts that were in force, then the summary. It is made
 * of the compaction's own events alone, so it is the same live, read cold and in a fork.
 *
 * An end without a summary replaces nothing: this also judges history, which must never stop being readable.
 */
export function replacementOf(
  open: SessionEvent,
  close: SessionEvent,
  inside: readonly SessionEvent[],
): Replacement | undefined {
  if (!isEvent(open, 'compact/start') || !isEvent(close, 'compact/end')) return undefined
  const summary = inside.findLast((event) => isEvent(event, 'compact/summary'))
  if (close.data.outcome !== 'applied' || summary === undefined) return undefined
  return { ...open.data.range, messages: replacing(summary.data) }
}

/** What stands in the place of a range. */
export function replacing(summary: CompactSummary): readonly RenderedMessage[] {
  return [...factsBlock(summary), summaryMessage(summary.text, summary.author)]
}
