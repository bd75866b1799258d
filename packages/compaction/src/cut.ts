import { SessionError, type TranscriptMessage } from '@tidemark/session-core'
import type { SeqRange } from './event.ts'
import type { Ground } from './ground.ts'

/**
 * A range as a caller wants it.
 * @throws SessionError `INVALID_SEQ` when it cuts; `details.seq` is the nearest place that does not, if any.
 */
export function checkedRange(ground: Ground, range: SeqRange): SeqRange {
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
export function safeBelow({ spans, liveSeqs }: Ground, { from, through }: SeqRange): number {
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

/** A place where everything up to it can be replaced, and nothing is cut. */
export interface Cut {
  readonly through: number
  /** Tokens of the messages after it. */
  readonly retained: number
}

/** Every such place from the beginning of the log on, in order; the first one is before all messages. */
export function cutsOf(ground: Ground, tokensOf: (message: TranscriptMessage) => number): readonly Cut[] {
  const { spans, liveSeqs, length } = ground
  const heldFrom = liveSeqs.reduce((first, seq) => Math.min(first, seq), length)
  const tokensAt = new Map<number, number>()
  let retained = 0
  for (const message of ground.messages) {
    const tokens = tokensOf(message)
    retained += tokens
    tokensAt.set(message.seq, (tokensAt.get(message.seq) ?? 0) + tokens)
  }
  const found: Cut[] = [{ through: -1, retained }]
  let reach = -1
  spans.forEach((span, index) => {
    reach = Math.max(reach, span.through)
    retained -= tokensAt.get(span.seq) ?? 0
    const through = Math.min(spans[index + 1]?.seq ?? length, heldFrom) - 1
    if (through >= reach) found.push({ through, retained })
  })
  return found
}

/** What stands in the transcript for a range, deeply frozen. */
export function messagesIn(
  { spans, messages }: Ground,
  { from, through }: SeqRange,
): readonly TranscriptMessage[] {
  const inside = new Set(
    spans.filter((span) => from <= span.seq && span.through <= through).map(({ seq }) => seq),
  )
  return Object.freeze(messages.filter(({ seq }) => inside.has(seq)))
}
