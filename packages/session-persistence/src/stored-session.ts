import {
  SessionError,
  isSessionError,
  type AnySessionEvent,
  type SessionHeader,
} from '@tidemark/session-core'
import type { ReadTerms, Receipted, Rest, SessionStorage, StoredBatch, Tail, Writer } from './storage.ts'
import { unknownSession } from './unknown-session.ts'

/** A stored session, read to its end, or as far as was wanted. */
export interface StoredSession {
  readonly header: SessionHeader
  readonly events: readonly AnySessionEvent[]
  readonly tail: Tail
  /** The last seq that the storage proves durable. */
  readonly durableSeq: number
  /** What follows the last batch. */
  readonly rest: Rest | undefined
  /** Who wrote which events, oldest first: from each `seq` on until the next. */
  readonly writers: readonly { readonly seq: number; readonly writer: Writer }[]
}

/** How often a log is read anew that others take over while it is read. */
const readsMax = 16

/** What is wanted of a stored session: all of it, unless something says less. */
export interface Wanted {
  readonly from?: number | undefined
  readonly through?: number | undefined
  readonly receipt?: Receipted | undefined
}

/** @throws SessionError `NOT_FOUND`, `CORRUPT`, `UNSUPPORTED_FORMAT`, `STORAGE_FAILED`, `LOCKED` when it never holds still. */
export async function readStored(
  storage: SessionStorage,
  id: string,
  wanted: Wanted = {},
): Promise<StoredSession> {
  for (let reads = 1; ; reads++) {
    try {
      return await readOnce(storage, id, wanted)
    } catch (error) {
      if (!isSessionError(error) || error.code !== 'TAIL_MOVED') throw error
      if (reads < readsMax) continue
      const message = `${id}: others kept taking it over while it was read; nothing was changed`
      throw new SessionError('LOCKED', message, { sessionId: id, cause: error })
    }
  }
}

async function readOnce(storage: SessionStorage, id: string, wanted: Wanted): Promise<StoredSession> {
  const log = await asUnknown(id, () => storage.read(id, termsOf(wanted)))
  const events: AnySessionEvent[] = []
  const writers: { seq: number; writer: Writer }[] = []
  let durableSeq = -1
  let last: StoredBatch | undefined
  for await (const batch of log.batches) {
    if (batch.epoch !== last?.epoch) writers.push({ seq: events.length, writer: batch.writer })
    for (const event of batch.events) events.push(event)
    if (batch.isDurable) durableSeq = batch.tail.seq
    last = batch
  }
  const { header } = log
  if (last) return { header, events, tail: last.tail, durableSeq, rest: log.rest?.(), writers }
  throw new SessionError('CORRUPT', `${id}: the storage gave no batch at all`, { sessionId: id })
}

/** Below 0 nothing is wanted but the header, and that is given in any case. */
function termsOf({ from, through, receipt }: Wanted): ReadTerms {
  return {
    ...(from !== undefined && { from: Math.max(0, from) }),
    ...(through !== undefined && through >= 0 && { through }),
    ...(receipt && { receipt }),
  }
}

/**
 * The session up to and including `through`, whatever follows it; all of it where that is not given.
 * @throws SessionError `INVALID_SEQ`, and what `readStored` does.
 */
export async function readThrough(
  storage: SessionStorage,
  id: string,
  { through, receipt }: Omit<Wanted, 'from'>,
): Promise<StoredSession> {
  if (through === undefined) return readStored(storage, id, { receipt })
  // A receipt beyond what is wanted says nothing of it.
  const wanted = receipt !== undefined && receipt.seq > through ? { through } : { through, receipt }
  return upTo(await readStored(storage, id, Number.isInteger(through) ? wanted : {}), through)
}

/** The session as it was up to and including `through`. @throws SessionError `INVALID_SEQ`. */
export function upTo(stored: StoredSession, through: number): StoredSession {
  const length = stored.events.length
  const isThere =
    Number.isInteger(through) && through < length && (through >= 0 || (through === -1 && length === 0))
  if (isThere) {
    const durableSeq = Math.min(stored.durableSeq, through)
    return { ...stored, durableSeq, events: stored.events.slice(0, through + 1) }
  }
  const message = `${stored.header.id}: no event at ${through}: the log holds ${length} events`
  throw new SessionError('INVALID_SEQ', message, { sessionId: stored.header.id, intactThrough: length - 1 })
}

/**
 * A stored session may be missing in a storage's own words: a refused caller must not hear the difference.
 */
export async function asUnknown<T>(id: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw isSessionError(error) && error.code === 'NOT_FOUND' ? unknownSession(id) : error
  }
}

/** Says of an event of an unknown type who wrote it. */
export function withWriter({ writers }: StoredSession, error: unknown): unknown {
  if (!isSessionError(error) || error.code !== 'UNKNOWN_TYPE') return error
  const { seq } = error.details
  const by = writers.findLast((entry) => seq !== undefined && entry.seq <= seq)?.writer
  if (by === undefined) return error
  const writer = `${by.incarnation} (pid ${by.pid} on ${by.host})`
  return new SessionError(error.code, `${error.message}; written by ${writer}`, { ...error.details, writer })
}
