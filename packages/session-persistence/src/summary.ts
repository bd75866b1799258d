import { SessionError, isEvent, type AnySessionEvent, type SessionHeader } from '@tidemark/session-core'
import { parseJson } from './json-text.ts'

/** What a list shows of one session. */
export type SessionSummary =
  | {
      readonly id: string
      readonly status: 'ok'
      readonly header: SessionHeader
      readonly createdAt: number
      /** -1 when it is empty. */
      readonly lastSeq: number
      /** The time of the last event, or `createdAt`. */
      readonly lastTime: number
      /** The time of the last message with a part that a person wrote. */
      readonly lastHumanTime?: number
    }
  | {
      /** The name of its place in the storage, where the id itself cannot be read. */
      readonly id: string
      readonly status: 'damaged'
      readonly reason: string
    }

export interface SummaryPage {
  readonly sessions: readonly SessionSummary[]
  /** Where the next page goes on; absent on the last one. */
  readonly next?: string
}

/** What the events of a log say of its use. */
export interface Activity {
  readonly lastSeq: number
  readonly lastTime?: number
  readonly lastHumanTime?: number
}

export const noActivity: Activity = { lastSeq: -1 }

export function foldActivity(activity: Activity, event: AnySessionEvent): Activity {
  const { seq, time } = event
  return { ...activity, lastSeq: seq, lastTime: time, ...(isHuman(event) && { lastHumanTime: time }) }
}

function isHuman(event: AnySessionEvent): boolean {
  if (!isEvent(event, 'user/message')) return false
  // A storage may hold what no schema of ours has seen.
  const { parts } = event.data as Partial<typeof event.data>
  return Array.isArray(parts) && parts.some((part?: { author?: unknown }) => part?.author === 'human')
}

export function summaryOf(header: SessionHeader, activity: Activity): SessionSummary {
  const { id, createdAt } = header
  return { id, status: 'ok', header, createdAt, lastTime: createdAt, ...activity }
}

/** Sessions on one page. */
const pageLengthMax = 1_000

/** One page of a list: newest human activity first, then by id, and the damaged ones last. */
export function pageOf(
  summaries: readonly SessionSummary[],
  after: string | undefined,
  countMax: number,
): SummaryPage {
  const placed = summaries.map((summary) => ({ summary, ...placeOf(summary) }))
  const { items, next } = selectPage(placed, after, countMax)
  return { sessions: items.map(({ summary }) => summary), ...(next !== undefined && { next }) }
}

/** Where a session stands in a list: its activity, null when it is unknown, and its id. */
export interface Placed {
  readonly activeAt: number | null
  readonly id: string
}

/** One page of whatever has a place in a list. Ids are asked for only where activities are the same. */
export function selectPage<T extends Placed>(
  placed: Iterable<T>,
  after: string | undefined,
  countMax: number,
): { readonly items: readonly T[]; readonly next?: string } {
  if (!Number.isInteger(countMax) || countMax < 1) {
    throw new SessionError('INVALID_SEQ', 'a page holds at least one session: countMax counts from 1')
  }
  const place = after === undefined ? undefined : readCursor(after)
  const rest = [...placed].filter((each) => place === undefined || compare(each, place) > 0).sort(compare)
  const items = rest.slice(0, Math.min(countMax, pageLengthMax))
  const last = items.at(-1)
  return { items, ...(last && items.length < rest.length && { next: cursorOf(last) }) }
}

export function placeOf(summary: SessionSummary): Placed {
  const activeAt = summary.status === 'ok' ? activeAtOf(summary.header, summary) : null
  return { activeAt, id: summary.id }
}

/** What a list is sorted by. */
export function activeAtOf({ createdAt }: SessionHeader, { lastHumanTime }: Partial<Activity>): number {
  return lastHumanTime ?? createdAt
}

function compare(a: Placed, b: Placed): number {
  const newestFirst = (b.activeAt ?? -Infinity) - (a.activeAt ?? -Infinity)
  // Two unknown times differ by NaN.
  if (newestFirst) return newestFirst
  const [idA, idB] = [a.id, b.id]
  if (idA === idB) return 0
  return idA < idB ? -1 : 1
}

function cursorOf({ activeAt, id }: Placed): string {
  return Buffer.from(JSON.stringify([activeAt, id])).toString('base64url')
}

function readCursor(cursor: string): Placed {
  const place = typeof cursor === 'string' && parseJson(Buffer.from(cursor, 'base64url').toString())
  const [time, id] = Array.isArray(place) ? (place as unknown[]) : []
  const fits = (time === null || typeof time === 'number') && typeof id === 'string'
  if (!fits) throw new SessionError('INVALID_SEQ', 'a page goes on after the `next` of the one before it')
  return { activeAt: time, id }
}
