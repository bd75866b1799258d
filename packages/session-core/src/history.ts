import { SessionError } from './errors.ts'
import type { AnySessionEvent, SessionEvent } from './event.ts'

/** A part of a log, in pages. */
export interface HistoryRequest {
  /** The first seq wanted. Default: 0. */
  readonly from?: number
  /** The last seq wanted. Default: the log's last. */
  readonly through?: number
  /** `backward`: the pages begin at the end; the events of each stand in the order of the log all the same. */
  readonly order?: 'forward' | 'backward'
  /** Default: 1,000; at most 10,000. */
  readonly countMax?: number
  /** Of the events' JSON texts, about. A page holds one event in any case. Default: 1 MiB. */
  readonly sizeBytesMax?: number
}

export interface HistoryPage<Event = SessionEvent> {
  /** Ascending. */
  readonly events: readonly Event[]
  /** Asks for the next page; absent on the last one. */
  readonly next?: HistoryRequest
}

/** What is wanted of a log, every bound filled in. */
export type HistoryTerms = Required<HistoryRequest>

/** Where a session finds events that it does not hold in memory. */
export interface HistorySource {
  /** The events of one page, ascending; `terms.through` is stored. */
  page(terms: HistoryTerms): Promise<readonly AnySessionEvent[]>
}

export const historyCountMax = 10_000
export const historySizeBytesMax = 16_777_216
const countDefault = 1_000
const sizeBytesDefault = 1_048_576

/** @throws SessionError `INVALID_SEQ` for what is no range, or no bound, of a log of this length. */
export function historyTerms(request: HistoryRequest, length: number): HistoryTerms {
  const { from = 0, through = length - 1, order = 'forward' } = request
  const { countMax = countDefault, sizeBytesMax = sizeBytesDefault } = request
  refuse('from', from, [0, length])
  refuse('through', through, [from - 1, length - 1])
  const orders: readonly unknown[] = ['forward', 'backward']
  if (!orders.includes(order)) throw new SessionError('INVALID_SEQ', 'order is forward or backward')
  refuse('countMax', countMax, [1, historyCountMax])
  refuse('sizeBytesMax', sizeBytesMax, [1, historySizeBytesMax])
  return { from, through, order, countMax, sizeBytesMax }
}

/** The page that these events are of a range, and how to ask for the rest. */
export function pageOf<Event extends { readonly seq: number }>(
  events: readonly Event[],
  terms: HistoryTerms,
): HistoryPage<Event> {
  const { from, through, order } = terms
  const first = events[0]?.seq ?? from
  const last = events.at(-1)?.seq ?? through
  const isForward = order === 'forward'
  const isLast = isForward ? last >= through : first <= from
  if (events.length === 0 || isLast) return { events }
  return { events, next: { ...terms, ...(isForward ? { from: last + 1 } : { through: first - 1 }) } }
}

/** Events of one page from those of a range, taken from the end that the order begins at. */
export class PageBuilder<Event> {
  private readonly events: Event[] = []
  private sizeBytes = 0

  constructor(private readonly terms: Pick<HistoryTerms, 'countMax' | 'sizeBytesMax'>) {}

  /** Whether it found room. The first one always does. */
  add(event: Event, sizeBytes: number): boolean {
    const { countMax, sizeBytesMax } = this.terms
    const isFull = this.events.length >= countMax || this.sizeBytes + sizeBytes > sizeBytesMax
    if (this.events.length > 0 && isFull) return false
    this.events.push(event)
    this.sizeBytes += sizeBytes
    return true
  }

  get found(): readonly Event[] {
    return this.events
  }
}

function refuse(what: string, value: number, [min, max]: readonly [number, number]): void {
  if (Number.isInteger(value) && value >= min && value <= max) return
  throw new SessionError('INVALID_SEQ', `${what} is a whole number from ${min} to ${max}`, {
    intactThrough: max,
  })
}
