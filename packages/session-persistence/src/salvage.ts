import { assertLossless, coreSchemas, isSessionError } from '@tidemark/session-core'
import type { AnySessionEvent, SalvagedFrom, SessionHeader } from '@tidemark/session-core'
import { decodeEvent, encodeEvent, type EncodedEvent } from './encoded-event.ts'
import { SeqRanges, type SeqsFound } from './seq-ranges.ts'
import type { SalvagedRecord, StorageCapabilities } from './storage.ts'

/** Stands for a seq of which nothing was left. */
export const lostType = 'tidemark/lost'

/**
 * Seqs that may be lost in one salvage. A record that would make it more is left out: one wild number in a damaged
 * line must not become a billion events.
 */
export const lostMax = 1_000_000

/** What a salvage came to. Of lost and unproven seqs the first ranges are named, and all are counted. */
export interface Salvaged {
  /** Of the new session, which is stored and not open: resume it. */
  readonly header: SessionHeader
  /** Events that it holds of the damaged one. */
  readonly kept: number
  /** Those among them that nothing proves to be as they were written. */
  readonly unproven: SeqsFound
  /** Seqs below the last one kept of which nothing was left. */
  readonly lost: SeqsFound
  /** Records that could be read and are no events of a log, or that no place was found for. */
  readonly leftOut: number
}

/**
 * What is left of one damaged log.
 *
 * 1. Every event keeps its seq, so that seqs that other events name stay right.
 * 2. A new session that it seeds can be resumed: what core would refuse in a seed is left out.
 * 3. It holds one JSON text for each event that is kept, since a storage takes a seed as a whole or not at all;
 *    what stands for lost ones is made while the seed is read.
 */
export class Salvage {
  private readonly texts: string[] = []
  private readonly lost = new SeqRanges()
  private readonly unproven = new SeqRanges()
  private leftOut = 0
  private nextSeq = 0

  constructor(
    private readonly id: string,
    private readonly limits: Pick<StorageCapabilities, 'eventSizeBytesMax'>,
  ) {}

  get isEmpty(): boolean {
    return this.texts.length === 0
  }

  get mark(): SalvagedFrom {
    return { id: this.id, lost: this.lost.found.count, unproven: this.unproven.found.count }
  }

  take({ event, isProven }: SalvagedRecord): void {
    const encoded = this.encodeFitting(event)
    if (encoded === undefined) {
      this.leftOut += 1
      return
    }
    const { seq } = encoded.event
    if (seq > this.nextSeq) this.lost.add(this.nextSeq, seq - 1)
    if (!isProven) this.unproven.add(seq, seq)
    this.texts.push(encoded.json)
    this.nextSeq = seq + 1
  }

  /** Of the new session. `time`: of what stands for lost events, since theirs went with them. */
  seed(time: number): Iterable<EncodedEvent> {
    return { [Symbol.iterator]: () => this.events(time) }
  }

  told(header: SessionHeader): Salvaged {
    const { lost, unproven, leftOut } = this
    return { header, kept: this.texts.length, unproven: unproven.found, lost: lost.found, leftOut }
  }

  private *events(time: number): Generator<EncodedEvent, void> {
    let nextSeq = 0
    for (const text of this.texts) {
      const event = decodeEvent(text)
      for (; nextSeq < event.seq; nextSeq++)
        yield encodeEvent({ seq: nextSeq, time, type: lostType, data: {}, ignorable: true })
      yield encodeEvent(event)
      nextSeq += 1
    }
  }

  private encodeFitting(event: AnySessionEvent): EncodedEvent | undefined {
    if (!isEventOfLog(event)) return undefined
    const missing = event.seq - this.nextSeq
    if (missing < 0 || this.lost.found.count + missing > lostMax) return undefined
    const encoded = encodeEvent(event)
    return encoded.sizeBytes <= this.limits.eventSizeBytesMax ? encoded : undefined
  }
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
