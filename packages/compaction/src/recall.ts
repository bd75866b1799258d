import {
  isSessionError,
  SessionError,
  type HistoryPage,
  type HistoryRequest,
  type SessionView,
} from '@tidemark/session-core'
import { compactions, type CompactionRecord, type CompactionsState } from './compactions.ts'

/**
 * A page of the events that a compaction took out of the transcript, as they were recorded.
 * @throws SessionError `NOT_FOUND` unless the log tells of one with this id that was applied; `INVALID_SEQ`.
 */
export async function recall(
  session: SessionView,
  id: string,
  request: HistoryRequest,
): Promise<HistoryPage> {
  const { range } = await readApplied(session, id)
  const { from = range.from, through = range.through } = request
  refuseOutside(session, range, { from, through })
  return session.history({ ...request, from, through })
}

function refuseOutside(
  { id }: SessionView,
  range: CompactionRecord['range'],
  { from, through }: CompactionRecord['range'],
): void {
  if (range.from <= from && through <= range.through) return
  throw new SessionError(
    'INVALID_SEQ',
    `${id}: the compaction replaced ${range.from} to ${range.through}, and nothing else is recalled`,
    { sessionId: id, intactThrough: range.through },
  )
}

async function readApplied(session: SessionView, compactionId: string): Promise<CompactionRecord> {
  const { records, droppedCount } = await loaded(session)
  const found = records.findLast(({ id }) => id === compactionId)
  if (found?.fate === 'applied') return found
  const { id } = session
  const why = found ? `is ${found.fate}` : `is not among the ${records.length} that are known`
  throw new SessionError('NOT_FOUND', `${id}: the compaction ${why}; there is nothing to recall`, {
    sessionId: id,
    ...(found ? { seq: found.startSeq, fate: found.fate } : { droppedCount }),
  })
}

/** A session may hold its end only, from before this projection was known. */
async function loaded(session: SessionView): Promise<CompactionsState> {
  try {
    return session.read(compactions)
  } catch (error) {
    if (!isSessionError(error) || error.code !== 'NOT_LOADED') throw error
    await session.load(compactions)
    return session.read(compactions)
  }
}
