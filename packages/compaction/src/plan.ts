import { SessionError, type TranscriptMessage } from '@tidemark/session-core'
import type { SeqRange } from './event.ts'
import type { Ground } from './ground.ts'
import { findSummary, isFacts, summaryMessage } from './rendering.ts'
import { messagesSizeBytes } from './size.ts'

/** Where no summary of so many UTF-8 bytes would make the transcript smaller, it is not worth one. */
const gainSizeBytesMin = 64

/** What a compaction would do. */
export type CompactionPlan =
  | { readonly kind: 'nothing' }
  | {
      readonly kind: 'replace'
      readonly range: SeqRange
      /** What the model sees of the range now, deeply frozen. */
      readonly messages: readonly TranscriptMessage[]
      /** A summary of more UTF-8 bytes would be no smaller than what it replaces. Pinned facts are not counted. */
      readonly gainSizeBytesMax: number
    }

export interface PlanWishes {
  /** Default: everything before the retained messages. */
  readonly range?: SeqRange | undefined
  /** How many messages at the end stay as they are, where no range is given. */
  readonly retainMessages: number
}

/**
 * Chooses or checks a range, so that no call is split from its result and nothing live is cut off. Pure; costs what
 * stands in the transcript.
 *
 * @throws SessionError `INVALID_SEQ` for a range that cuts; `details.seq` is the nearest place that does not, if any.
 */
export function decidePlan(ground: Ground, { range, retainMessages }: PlanWishes): CompactionPlan {
  const chosen = range === undefined ? defaultRange(ground, retainMessages) : checkedRange(ground, range)
  if (chosen.through < chosen.from) return { kind: 'nothing' }
  const messages = messagesIn(ground, chosen)
  const isCompacted = messages.every((message) => isFacts(message) || findSummary(message) !== undefined)
  if (isCompacted && messages.filter((message) => !isFacts(message)).length <= 1) return { kind: 'nothing' }
  const said = messages.filter((message) => !isFacts(message))
  const gainSizeBytesMax = messagesSizeBytes(said) - messagesSizeBytes([summaryMessage('')]) - 1
  if (gainSizeBytesMax < gainSizeBytesMin) return { kind: 'nothing' }
  return { kind: 'replace', range: chosen, messages, gainSizeBytesMax }
}

function defaultRange(ground: Ground, retainMessages: number): SeqRange {
  if (!Number.isInteger(retainMessages) || retainMessages < 0) {
    throw new SessionError('INVALID_SEQ', 'messages to retain are counted from 0')
  }
  const { messages, length } = ground
  const retained = messages.length - retainMessages
  const first = retained > 0 ? messages[retained] : messages[0]
  const through = retained === messages.length ? length - 1 : (first?.seq ?? 0) - 1
  return { from: 0, through: safeBelow(ground, { from: 0, through }) }
}

function checkedRange(ground: Ground, range: SeqRange): SeqRange {
  const { from, through } = range
  const isRange = Number.isInteger(from) && Number.isInteger(through) && 0 <= from && from <= through
  if (!isRange || through >= ground.length) {
    throw new SessionError(
      'INVALID_SEQ',
      `a range lies within the log, which holds ${ground.length} events`,
      {
        intactThrough: ground.length - 1,
      },
    )
  }
  const start = startBelow(ground, from)
  if (start !== from) throw cuts('begins', from, start)
  const below = safeBelow(ground, range)
  if (below !== through) throw cuts('ends', through, below >= from ? below : safeAbove(ground, range))
  return { from, through }
}

function cuts(how: string, asked: number, nearest: number | undefined): SessionError {
  const hint = nearest === undefined ? 'no other place fits' : `the nearest place is ${nearest}`
  const details = nearest === undefined ? {} : { seq: nearest }
  return new SessionError(
    'INVALID_SEQ',
    `a range that ${how} at ${asked} cuts what belongs together; ${hint}`,
    details,
  )
}

/** The first seq at or below `from` that no span reaches over. */
function startBelow({ spans }: Ground, from: number): number {
  return spans.reduceRight((start, { seq, through }) => (seq < start && start <= through ? seq : start), from)
}

/** The last seq at or below `through` where nothing is cut. It lies below `from` when there is none in the range. */
function safeBelow({ spans, liveSeqs }: Ground, { from, through }: SeqRange): number {
  const beforeLive = liveSeqs.reduce((cut, seq) => (from <= seq && seq <= cut ? seq - 1 : cut), through)
  return spans.reduceRight(
    (cut, span) => (span.seq <= cut && cut < span.through ? span.seq - 1 : cut),
    beforeLive,
  )
}

function safeAbove({ spans, liveSeqs }: Ground, { from, through }: SeqRange): number | undefined {
  const above = spans.reduce(
    (cut, span) => (span.seq <= cut && cut < span.through ? span.through : cut),
    through,
  )
  return liveSeqs.some((seq) => from <= seq && seq <= above) ? undefined : above
}

function messagesIn({ spans, messages }: Ground, { from, through }: SeqRange): readonly TranscriptMessage[] {
  const inside = new Set(
    spans.filter((span) => from <= span.seq && span.through <= through).map(({ seq }) => seq),
  )
  return messages.filter(({ seq }) => inside.has(seq))
}
