import { assertLossless, coreSchemas, isSessionError } from '@tidemark/session-core'
import type { AnySessionEvent, Beginning, SalvagedFrom, SessionHeader } from '@tidemark/session-core'
import { decodeEvent, encodeEvent, type EncodedEvent } from './encoded-event.ts'
import { SeqRanges, type SeqsFound } from './seq-ranges.ts'
import type { SalvagedRecord } from './storage.ts'

/** Stands for a seq of which nothing was left. */
export const lostType = 'tidemark/lost'

/**
 * Stands for an event that nothing proves, of a type that nobody here defines: the type may be what was damaged, and a
 * session with it could not be read. `data.event` is what was found.
 */
export const unprovenType = 'tidemark/unproven'

/**
 * Seqs that may be lost in one salvage. A record that would make it more is left out: one wild number in a damaged
 * line must not become a billion events.
 */
export const lostMax = 1_000_000

/** Salvages that a header names: of a log that was salvaged again and again the newest. */
const earlierMax = 64

/** What a salvage came to. Of lost and unproven seqs the first ranges are named, and all are counted. */
export interface Salvaged {
  /** Of the new session, which is stored and not open: resume it. */
  readonly header: SessionHeader
  /** Events that it holds of the damaged one. */
  readonly kept: number
  /** Those among them that nothing proves to be as they were written. */
  readonly unproven: SeqsFound
  /** Seqs below the last one kept of which nothing was left, in this log or in one that it was salvaged from. */
  readonly lost: SeqsFound
  /** Records that could be read and are no events of a log, or that no place was found for. */
  readonly leftOut: number
}

export interface SalvageTerms {
  readonly eventSizeBytesMax: number
  /** Whether somebody here defines a type. */
  readonly isKnown: (type: string) => boolean
  /** What the damaged log says that it was salvaged from itself. */
  readonly source: SalvagedFrom | undefined
}

interface Kept {
  readonly seq: number
  readonly json: string
  readonly isProven: boolean
  /** Seqs that are lost up to here. */
  readonly lost: number
}

/**
 * What is left of one damaged log.
 *
 * 1. Every event keeps its seq, so that seqs that other events name stay right.
 * 2. A new session that it seeds can be resumed: what core would refuse in a seed is left out.
 * 3. What is proven has its place before anything that is not.
 * 4. It holds one JSON text for each event that is kept, since a storage takes a seed as a whole or not at all;
 *    what stands for lost ones is made while the seed is read.
 */
export class Salvage {
  private readonly kept: Kept[] = []
  private leftOut = 0

  constructor(
    private readonly id: string,
    private readonly terms: SalvageTerms,
  ) {}

  get isEmpty(): boolean {
    return this.kept.length === 0
  }

  get mark(): SalvagedFrom {
    const { lost, unproven } = this.found()
    const own = { id: this.id, lost: lost.count, unproven: unproven.count }
    const { source } = this.terms
    if (source === undefined) return own
    const { earlier = [], ...before } = source
    return { ...own, earlier: [before, ...earlier].slice(0, earlierMax) }
  }

  take({ event, isProven }: SalvagedRecord): void {
    if (!isEventOfLog(event)) this.leftOut += 1
    else if (event.type !== lostType) this.keep(event, isProven)
  }

  /** Of the new session. `time`: of what stands for lost events, since theirs went with them, and of beginnings. */
  seed(time: number, beginnings: readonly Beginning[]): Iterable<EncodedEvent> {
    return { [Symbol.iterator]: () => this.events(time, beginnings) }
  }

  told(header: SessionHeader): Salvaged {
    return { header, kept: this.kept.length, ...this.found(), leftOut: this.leftOut }
  }

  private keep(event: AnySessionEvent, isProven: boolean): void {
    const { seq } = event
    const encoded = encodeEvent(isProven || this.terms.isKnown(event.type) ? event : wrapped(event))
    const rivals = isProven ? this.rivalsOf(seq) : 0
    const last = this.kept.at(-1 - rivals) ?? { seq: -1, lost: 0 }
    const lost = last.lost + seq - last.seq - 1
    const fits = seq > last.seq && lost <= lostMax && encoded.sizeBytes <= this.terms.eventSizeBytesMax
    if (!fits || !isEventOfLog(encoded.event)) {
      this.leftOut += 1
      return
    }
    this.kept.length -= rivals
    this.leftOut += rivals
    this.kept.push({ seq, json: encoded.json, isProven: isProven && event.type !== unprovenType, lost })
  }

  /** How many at the end are not proven, and stand where a proven event, or what is before it, must. */
  private rivalsOf(seq: number): number {
    const last = this.kept.findLastIndex((each) => each.isProven || each.seq < seq)
    return this.kept.length - 1 - last
  }

  private found(): Pick<Salvaged, 'lost' | 'unproven'> {
    const lost = new SeqRanges()
    const unproven = new SeqRanges()
    let nextSeq = 0
    for (const { seq, isProven } of this.kept) {
      if (seq > nextSeq) lost.add(nextSeq, seq - 1)
      if (!isProven) unproven.add(seq, seq)
      nextSeq = seq + 1
    }
    return { lost: lost.found, unproven: unproven.found }
  }

  private *events(time: number, beginnings: readonly Beginning[]): Generator<EncodedEvent, void> {
    let nextSeq = 0
    for (const { seq, json } of this.kept) {
      for (; nextSeq < seq; nextSeq++)
        yield encodeEvent({ seq: nextSeq, time, type: lostType, data: {}, ignorable: true })
      yield encodeEvent(decodeEvent(json))
      nextSeq += 1
    }
    for (const beginning of beginnings) yield encodeEvent({ seq: nextSeq++, time, ...beginning })
  }
}

function wrapped({ seq, time, ...event }: AnySessionEvent): AnySessionEvent {
  return { seq, time, type: unprovenType, data: { event }, ignorable: true }
}

/** Whether core takes it as history. */
function isEventOfLog({ seq, time, type, data, ignorable, replaces }: AnySessionEvent): boolean {
  const hasPlace = Number.isSafeInteger(seq) && seq >= 0 && Number.isFinite(time)
  const hasFlags = (ignorable ?? true) === true && (replaces ?? true) === true
  const hasType = typeof type === 'string' && type !== ''
  return hasPlace && hasFlags && hasType && isLossless(data) && isShaped(type, data)
}

function isLossless(data: unknown): boolean {
  try {
    assertLossless(data)
    return true
  } catch (error) {
    if (!isSessionError(error)) throw error
    return false
  }
}

function isShaped(type: string, data: unknown): boolean {
  const isCore = Object.hasOwn(coreSchemas, type)
  return !isCore || coreSchemas[type as keyof typeof coreSchemas].safeParse(data).success
}
