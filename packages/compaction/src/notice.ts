import type { TranscriptMessage } from '@tidemark/session-core'
import type { Span } from './ground.ts'
import { isFacts } from './rendering.ts'

/**
 * A message of the host alone, right before one that somebody sent, announces it: "your request follows". Both are kept
 * or replaced together, so the span of the first reaches over the second.
 */
export function withNotices(spans: readonly Span[], messages: readonly TranscriptMessage[]): readonly Span[] {
  const sent = new Map<number, boolean>()
  for (const message of messages) {
    if (message.role !== 'user' || isFacts(message)) continue
    sent.set(
      message.seq,
      message.parts.some(({ author }) => author !== 'system'),
    )
  }
  return spans.map((span, index) => {
    const next = spans[index + 1]
    const announces = next && sent.get(span.seq) === false && sent.get(next.seq) === true
    return announces ? { seq: span.seq, through: next.through } : span
  })
}
