import { SessionError, isSessionError, transcript } from '@tidemark/session-core'
import type { HistorySource, RetainBounds, Retained, Sessions } from '@tidemark/session-core'
import type { SessionSeed, SessionView } from '@tidemark/session-core'
import { lastSnapshot, noSnapshot, type LastSnapshot } from './last-snapshot.ts'
import { noBatch, noEventAt } from './refused-read.ts'
import { decodeSnapshot, type FoundSnapshot } from './snapshot-content.ts'
import type { Receipted, Rest, SessionStorage, Snapshot, StoredBatch, Tail, Writer } from './storage.ts'
import { unknownSession } from './unknown-session.ts'

/** A stored session, read to its end, or as far as was wanted. */
export interface StoredSession {
  readonly view: SessionView
  readonly tail: Tail
  /** Places where the log ended, those that are proven durable first: which log it was that was read. */
  readonly tails: readonly Tail[]
  /** The last seq that the storage proves durable. */
  readonly durableSeq: number
  /** What follows the last batch. */
  readonly rest: Rest | undefined
  /** What the read began with. */
  readonly snapshot: LastSnapshot
  /** How much of what was read may stay in memory. */
  readonly retained: Retained
}

/** How often a log is read anew that others take over while it is read. */
const readsMax = 16

/** Snapshots that are decoded before the log is read instead. */
const snapshotTriesMax = 4

/** What is wanted of a stored session: all of it, unless something says less. */
export interface Wanted {
  readonly through?: number | undefined
  readonly receipt?: Receipted | undefined
  readonly carry?: readonly string[] | undefined
}

/** What a stored session is read into. */
export interface Reading {
  readonly storage: SessionStorage
  readonly sessions: Sessions
  readonly history: HistorySource
  /** What stays in memory, where the rest can be read again. */
  readonly retain: RetainBounds
  /** Told of what is passed over. */
  readonly report: (error: SessionError) => void
}

/**
 * The session up to and including `through`, whatever follows it; all of it where that is not given.
 * @throws SessionError `NOT_FOUND`, `CORRUPT`, `UNSUPPORTED_FORMAT`, `STORAGE_FAILED`, `UNKNOWN_TYPE` naming the
 * writer, `INVALID_SEQ`, `LOCKED` when it never holds still.
 */
export function readStored(id: string, wanted: Wanted, reading: Reading): Promise<StoredSession> {
  return untilStill(id, () => readOnce(id, wanted, reading))
}

/**
 * What a session starts with that goes on from a view. A plugin that came while the view was read may explain what its
 * states were folded without.
 */
export async function seedOf(view: SessionView): Promise<SessionSeed> {
  try {
    return view.seed()
  } catch (error) {
    if (!isSessionError(error) || error.code !== 'NOT_LOADED') throw error
  }
  await view.load(transcript)
  return view.seed()
}

/** Reads a log again that somebody took over while it was read. @throws SessionError `LOCKED`. */
export async function untilStill<T>(id: string, read: () => Promise<T>): Promise<T> {
  for (let reads = 1; ; reads++) {
    try {
      return await read()
    } catch (error) {
      if (!isSessionError(error) || error.code !== 'TAIL_MOVED') throw error
      if (reads < readsMax) continue
      const message = `${id}: others kept taking it over while it was read; nothing was changed`
      throw new SessionError('LOCKED', message, { sessionId: id, cause: error })
    }
  }
}

async function readOnce(id: string, wanted: Wanted, reading: Reading): Promise<StoredSession> {
  const { through, receipt, carry } = wanted
  const { storage, sessions, history, retain } = reading
  // A receipt beyond what is wanted says nothing of it; below 0 nothing is wanted but the header, given in any case.
  const isReached = receipt !== undefined && receipt.seq <= (through ?? Infinity)
  const isBounded = through !== undefined && Number.isInteger(through) && through >= 0
  const {
    snapshot,
    at,
    sizeBytes = 0,
    tailSeq = 0,
  } = (await findSnapshot(id, isBounded ? through : undefined, reading)) ?? {}
  const from = snapshot ? Math.max(tailSeq, snapshot.seq + 1 - retain.retainEvents) : 0
  const terms = {
    ...(from > 0 && { from }),
    ...(isBounded && { through }),
    ...(isReached && { receipt }),
  }
  const log = await asUnknown(id, () => storage.read(id, terms))
  let last: StoredBatch | undefined
  let durable: Tail | undefined
  try {
    const isPart = through !== undefined
    const replay = sessions.replay(log.header, {
      snapshot,
      from,
      carry: carry ?? [],
      history,
      retain,
      isPart,
    })
    for await (const batch of log.batches) {
      last = batch
      replay.push(batch.events, batch.sizeBytes)
      if (batch.isDurable) durable = batch.tail
    }
    if (last === undefined) throw noBatch(id)
    const { view, retained } = replay
    refuseShort(view, through)
    const { tail } = last
    const durableSeq = Math.min(durable?.seq ?? -1, view.log.length - 1)
    const tails = [durable, at, tail].filter((each) => each !== undefined)
    const known = snapshot ? lastSnapshot(snapshot, sizeBytes) : noSnapshot
    return { view, tail, tails, durableSeq, rest: log.rest?.(), snapshot: known, retained }
  } catch (error) {
    throw await withWriter(id, error, { storage, last })
  }
}

/** The newest one that this program can begin with. What stands in it is as it was acknowledged. */
async function findSnapshot(
  id: string,
  through: number | undefined,
  { storage, sessions, report }: Reading,
): Promise<(FoundSnapshot & { readonly at: Tail; readonly sizeBytes: number }) | undefined> {
  let within = through
  for (let tries = 0; tries < snapshotTriesMax; tries++) {
    const found = await loadSnapshot(id, within, { storage, report })
    if (found === undefined) return undefined
    const { at } = found
    const decoded = decodeSnapshot(found.content)
    const isOurs = decoded?.snapshot.seq === at.seq
    if (isOurs && sessions.vocabulary.accepts(decoded.snapshot))
      return { ...decoded, at, sizeBytes: found.content.length }
    within = at.seq - 1 // an older one may have been folded as it would be now
  }
  return undefined
}

/** A shortcut that fails costs the shortcut: whether the log is there and whole, the read of it says. */
async function loadSnapshot(
  id: string,
  through: number | undefined,
  { storage, report }: Pick<Reading, 'storage' | 'report'>,
): Promise<Snapshot | undefined> {
  try {
    return await storage.snapshots?.load(id, through, report)
  } catch (error) {
    if (!isSessionError(error)) throw error
    if (error.code === 'STORAGE_FAILED') report(error)
    return undefined
  }
}

function refuseShort({ id, log }: SessionView, through: number | undefined): void {
  const { length } = log
  if (through !== undefined && through !== length - 1) throw noEventAt(id, through, length)
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
async function withWriter(
  sessionId: string,
  error: unknown,
  { storage, last }: { storage: SessionStorage; last: StoredBatch | undefined },
): Promise<unknown> {
  if (!isSessionError(error) || error.code !== 'UNKNOWN_TYPE') return error
  const { seq = -1 } = error.details
  const by = last?.writer ?? (await writerOf(sessionId, seq, storage))
  if (by === undefined) return error
  const writer = `${by.incarnation} (pid ${by.pid} on ${by.host})`
  return new SessionError(error.code, `${error.message}; written by ${writer}`, { ...error.details, writer })
}

async function writerOf(id: string, seq: number, storage: SessionStorage): Promise<Writer | undefined> {
  const { batches } = await storage.read(id, { from: seq, through: seq })
  for await (const batch of batches) if (batch.events.some((event) => event.seq === seq)) return batch.writer
  return undefined
}
