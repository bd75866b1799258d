import {
  boundaryType,
  isEvent,
  isSessionError,
  SessionError,
  type HistoryPage,
  type HistoryRequest,
  type SessionEvent,
  type SessionView,
} from '@tidemark/session-core'
import {
  compactions,
  foldCompactions,
  noCompactions,
  type CompactionRecord,
  type CompactionsState,
} from './compactions.ts'

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
  const isMeant = ({ id }: CompactionRecord): boolean => id === compactionId
  const known = records.findLast(isMeant)
  const found = known ?? (droppedCount > 0 ? await findInHistory(session, compactionId) : undefined)
  if (found?.fate === 'applied') return found
  const { id } = session
  const why = found ? `is ${found.fate}` : 'is not in the log'
  throw new SessionError('NOT_FOUND', `${id}: the compaction ${why}; there is nothing to recall`, {
    sessionId: id,
    ...(found && { seq: found.startSeq, fate: found.fate }),
  })
}

/** Of more than the projection holds: the log is read once, a page at a time, and no further than where it was applied. */
async function findInHistory(
  session: SessionView,
  compactionId: string,
): Promise<CompactionRecord | undefined> {
  let state = noCompactions
  let request: HistoryRequest | undefined = { through: session.log.length - 1 }
  while (request) {
    const page: HistoryPage = await session.history(request)
    for (const event of page.events) if (concerns(event, compactionId)) state = foldCompactions(state, event)
    const applied = state.records.findLast(({ fate }) => fate === 'applied')
    if (applied) return applied
    request = page.next
  }
  return state.records.at(-1)
}

/** With what ends every compaction, or one that is named by its seq. */
function concerns(event: SessionEvent, compactionId: string): boolean {
  if (event.type === boundaryType || event.type === 'bracket/abandoned') return true
  const isOurs =
    isEvent(event, 'compact/start') || isEvent(event, 'compact/summary') || isEvent(event, 'compact/end')
  return isOurs && event.data.id === compactionId
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
