import { SessionError, type TranscriptMessage } from '@tidemark/session-core'
import type { SeqRange } from './event.ts'
import type { Ground, HeldSpan, Span } from './ground.ts'

/**
 * A range as a caller wants it.
 * @throws SessionError `INVALID_SEQ` when it cuts; `details.seq` is the nearest place that does not, if any. Where an
 * indivisible bracket holds it, `details.bracket` and `details.openSeq` say which.
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
  if (start !== from) throw cuts('begins', from, { nearest: start, holder: holderAt(ground, from - 1) })
  const below = safeBelow(ground, range)
  if (below === through) return { from, through }
  const nearest = below >= from ? below : safeAbove(ground, range)
  throw cuts('ends', through, { nearest, holder: holderAt(ground, through) })
}

interface Held {
  readonly nearest: number | undefined
  readonly holder: HeldSpan | undefined
}

function cuts(how: string, asked: number, { nearest, holder }: Held): SessionError {
  const what = holder ? `the indivisible bracket ${holder.bracket}` : 'what belongs together'
  // What follows the opening of a live one is in no range.
  const seq = how === 'begins' && holder?.through === Infinity ? undefined : nearest
  const hint = seq === undefined ? 'no other place fits' : `the nearest place is ${seq}`
  return new SessionError('INVALID_SEQ', `a range that ${how} at ${asked} cuts ${what}; ${hint}`, {
    ...(seq !== undefined && { seq }),
    ...(holder && { bracket: holder.bracket, openSeq: holder.seq }),
  })
}

/** The indivisible bracket that a cut after `seq` would cut, if any: the one that reaches furthest. */
function holderAt({ held }: Ground, seq: number): HeldSpan | undefined {
  const holding = held.filter((span) => isCutAt(span, seq))
  return holding.toSorted((one, other) => other.through - one.through)[0]
}

function isCutAt({ seq, through }: Span, cut: number): boolean {
  return seq <= cut && cut < through
}

/** Everything that is not cut, in the order of the seqs. */
function piecesOf({ spans, held }: Ground): readonly Span[] {
  return held.length === 0 ? spans : [...spans, ...held].sort((one, other) => one.seq - other.seq)
}

/** The first seq at or below `from` that nothing reaches over. */
function startBelow(ground: Ground, from: number): number {
  return piecesOf(ground).reduceRight((start, span) => (isCutAt(span, start - 1) ? span.seq : start), from)
}

/** The last seq at or below `through` where nothing is cut. It lies below `from` when there is none in the range. */
export function safeBelow(ground: Ground, { from, through }: SeqRange): number {
  const beforeLive = ground.liveSeqs.reduce(
    (cut, seq) => (from <= seq && seq <= cut ? seq - 1 : cut),
    through,
  )
  return piecesOf(ground).reduceRight((cut, span) => (isCutAt(span, cut) ? span.seq - 1 : cut), beforeLive)
}

function safeAbove(ground: Ground, { from, through }: SeqRange): number | undefined {
  const above = piecesOf(ground).reduce((cut, span) => (isCutAt(span, cut) ? span.through : cut), through)
  const isHeld = above === Infinity || ground.liveSeqs.some((seq) => from <= seq && seq <= above)
  return isHeld ? undefined : above
}

/**
 * Where a range may begin: at the beginning of the log, and after each thing that is live, which stays where it is.
 * In order.
 */
export function startsOf(ground: Ground): readonly number[] {
  const { liveSeqs, length } = ground
  const pieces = piecesOf(ground)
  const after = liveSeqs.map((seq) =>
    pieces.reduce((end, span) => (span.seq <= end && end < span.through ? span.through : end), seq),
  )
  const starts = new Set([0, ...after.map((end) => end + 1)])
  return [...starts].filter((start) => start < length || start === 0).sort((one, other) => one - other)
}

/** A place where everything from a start up to it can be replaced, and nothing is cut. */
export interface Cut {
  readonly through: number
  /** Tokens of the messages that stay. */
  readonly retained: number
  /** Of those that come after it. */
  readonly after: number
}

interface Cutting {
  readonly from: number
  readonly tokensOf: (message: TranscriptMessage) => number
}

/** Every such place, in order; the first one is before all messages of the range. */
export function cutsOf(ground: Ground, { from, tokensOf }: Cutting): readonly Cut[] {
  const { spans, liveSeqs, length } = ground
  const heldFrom = liveSeqs.reduce((first, seq) => (from <= seq ? Math.min(first, seq) : first), length)
  const { tokensAt, before, after: last } = weighed(ground, { from, tokensOf })
  let after = last
  const found: Cut[] = [{ through: from - 1, retained: before + after, after }]
  const blocks = blocksOf(ground.held)
  let block = 0
  let reach = from - 1
  spans.forEach((span, index) => {
    if (span.seq < from) return
    reach = Math.max(reach, span.through)
    after -= tokensAt.get(span.seq) ?? 0
    const limit = Math.min(spans[index + 1]?.seq ?? length, heldFrom) - 1
    while ((blocks[block]?.through ?? Infinity) <= limit) block += 1
    const holding = blocks[block]
    const through = holding && holding.seq <= limit ? holding.seq - 1 : limit
    if (through >= reach) found.push({ through, retained: before + after, after })
  })
  return found
}

interface Weighed {
  readonly tokensAt: ReadonlyMap<number, number>
  /** Before the range may begin, and from there on. */
  readonly before: number
  readonly after: number
}

function weighed({ messages }: Ground, { from, tokensOf }: Cutting): Weighed {
  const tokensAt = new Map<number, number>()
  let before = 0
  let after = 0
  for (const message of messages) {
    const tokens = tokensOf(message)
    if (message.seq < from) before += tokens
    else after += tokens
    tokensAt.set(message.seq, (tokensAt.get(message.seq) ?? 0) + tokens)
  }
  return { tokensAt, before, after }
}

/** What overlaps is one. */
function blocksOf(spans: readonly Span[]): readonly Span[] {
  const found: Span[] = []
  for (const { seq, through } of spans) {
    const last = found.at(-1)
    if (last === undefined || last.through < seq) found.push({ seq, through })
    else found[found.length - 1] = { seq: last.seq, through: Math.max(last.through, through) }
  }
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
