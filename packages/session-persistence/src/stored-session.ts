import {
  SessionError,
  isSessionError,
  type AnySessionEvent,
  type SessionHeader,
} from '@tidemark/session-core'
import type { SessionStorage, StoredBatch, Tail, Writer } from './storage.ts'
import { unknownSession } from './unknown-session.ts'

/** A stored session, read to its end. */
export interface StoredSession {
  readonly header: SessionHeader
  readonly events: readonly AnySessionEvent[]
  readonly tail: Tail
  /** Who wrote which events, oldest first: from each `seq` on until the next. */
  readonly writers: readonly { readonly seq: number; readonly writer: Writer }[]
}

/** How often a log is read anew that others take over while it is read. */
const readsMax = 3

/** @throws SessionError `NOT_FOUND`, `CORRUPT`, `UNSUPPORTED_FORMAT`, `STORAGE_FAILED`. */
export async function readStored(storage: SessionStorage, id: string): Promise<StoredSession> {
  for (let reads = 1; ; reads++) {
    try {
      return await readOnce(storage, id)
    } catch (error) {
      const isMoved = isSessionError(error) && error.code === 'TAIL_MOVED'
      if (!isMoved || reads === readsMax) throw error
    }
  }
}

async function readOnce(storage: SessionStorage, id: string): Promise<StoredSession> {
  const { header, batches } = await asUnknown(id, () => storage.read(id))
  const events: AnySessionEvent[] = []
  const writers: { seq: number; writer: Writer }[] = []
  let last: StoredBatch | undefined
  for await (const batch of batches) {
    if (batch.epoch !== last?.epoch) writers.push({ seq: events.length, writer: batch.writer })
    for (const event of batch.events) events.push(event)
    last = batch
  }
  if (last) return { header, events, tail: last.tail, writers }
  throw new SessionError('CORRUPT', `${id}: the storage gave no batch at all`, { sessionId: id })
}

/** The session as it was up to and including `through`. @throws SessionError `INVALID_SEQ`. */
export function upTo(stored: StoredSession, through: number): StoredSession {
  const length = stored.events.length
  const isThere =
    Number.isInteger(through) && through < length && (through >= 0 || (through === -1 && length === 0))
  if (isThere) return { ...stored, events: stored.events.slice(0, through + 1) }
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
