import type { TranscriptMessage } from '@tidemark/session-core'
import type { Span } from './ground.ts'
import { isFacts } from './rendering.ts'

/** More of them in a row are no announcement, and would hold a range up. */
const noticesMax = 8

/**
 * Messages of the host alone, right before one that somebody sent, announce it: "your request follows". All are kept or
 * replaced together, so the span of each reaches over that one.
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
  let request: Span | undefined
  let noticeCount = 0
  const found = spans.toReversed().map((span) => {
    const isSent = sent.get(span.seq)
    if (isSent === true) noticeCount = 0
    if (isSent !== false) request = isSent === true ? span : undefined
    else if (request !== undefined && ++noticeCount <= noticesMax)
      return { seq: span.seq, through: request.through }
    return span
  })
  return found.reverse()
}
