import {
  boundaryType,
  defineProjection,
  isEvent,
  isOrphaned,
  type Projection,
  type SessionEvent,
} from '@tidemark/session-core'
import { compaction } from './bracket.ts'
import type { CompactionErrorCode, CompactionTrigger, SeqRange } from './event.ts'
import { roughTokens } from './size.ts'

/**
 * What became of a compaction.
 *
 * - `applied`, `failed`, `cancelled`: as its end says; one that was to be applied and had no summary has failed.
 * - `abandoned`: its plugin went away, or could not record its end.
 * - `orphaned`: a boundary came first.
 */
export type CompactionFate = 'live' | 'applied' | 'failed' | 'cancelled' | 'abandoned' | 'orphaned'

/** One compaction of the log. */
export interface CompactionRecord {
  readonly id: string
  readonly trigger: CompactionTrigger
  readonly range: SeqRange
  readonly startSeq: number
  /** Of what ended it; none when nothing did but a boundary. */
  readonly endSeq?: number
  readonly fate: CompactionFate
  readonly code?: CompactionErrorCode
  /** Of the transcript when it began. */
  readonly tokens?: number
  /** The same, of one that failed before its tokens were counted. */
  readonly sizeBytes?: number
  /** Of the transcript after it was applied. */
  readonly tokensAfter?: number
  /** While it is live: whether its summary was recorded. */
  readonly hasSummary?: true
  /** Its summary was not replaced by a later one. */
  readonly isInForce?: true
}

/**
 * The compactions of a log.
 *
 * 1. Oldest first; at most `recordsMax`.
 * 2. What is live or in force is dropped after all others.
 */
export interface CompactionsState {
  readonly records: readonly CompactionRecord[]
  /** How many there were that are not in `records`. */
  readonly droppedCount: number
}

const recordsMax = 1_000

export const noCompactions: CompactionsState = Object.freeze({ records: Object.freeze([]), droppedCount: 0 })

export const compactions: Projection<CompactionsState> = defineProjection<CompactionsState>({
  name: 'compactions',
  version: 2,
  init: () => noCompactions,
  apply: foldCompactions,
})

/** Pure. */
export function foldCompactions(state: CompactionsState, event: SessionEvent): CompactionsState {
  if (event.type === boundaryType) return changed(state, isOrphanedAt(event.seq), orphaned)
  if (isEvent(event, 'compact/start')) return begun(state, event)
  if (isEvent(event, 'compact/summary')) {
    return changed(state, isLiveOf(event.data.id), (record) => ({ ...record, hasSummary: true }))
  }
  if (isEvent(event, 'compact/end')) return ended(state, event)
  if (!isEvent(event, 'bracket/abandoned') || event.data.bracket !== compaction.name) return state
  const { openSeq } = event.data
  const isMeant = (record: CompactionRecord): boolean => isLive(record) && record.startSeq === openSeq
  return changed(state, isMeant, (record) => over(record, { fate: 'abandoned', endSeq: event.seq }))
}

function begun(state: CompactionsState, { seq, data }: SessionEvent<'compact/start'>): CompactionsState {
  const { id, trigger, range, tokens, sizeBytes } = data
  // A start takes the place of a live one of the same id; only history can hold such a thing.
  const { records, droppedCount } = changed(state, isLiveOf(id), (record) =>
    over(record, { fate: 'abandoned', endSeq: seq }),
  )
  const size = { ...(tokens !== undefined && { tokens }), ...(sizeBytes !== undefined && { sizeBytes }) }
  const record: CompactionRecord = { id, trigger, range, startSeq: seq, fate: 'live', ...size }
  return bounded({ records: [...records, Object.freeze(record)], droppedCount })
}

function ended(state: CompactionsState, { seq, data }: SessionEvent<'compact/end'>): CompactionsState {
  const found = state.records.find(isLiveOf(data.id))
  if (found === undefined) return state
  const isApplied = data.outcome === 'applied' && found.hasSummary === true
  const fate = data.outcome === 'applied' && !isApplied ? 'failed' : data.outcome
  const code = data.error?.code
  const rest = isApplied ? changed(state, isInside(found.range), replaced) : state
  return changed(rest, isLiveOf(data.id), (record) =>
    over(record, {
      fate,
      endSeq: seq,
      ...(code !== undefined && { code }),
      ...(isApplied && { isInForce: true }),
      ...(isApplied && data.tokens !== undefined && { tokensAfter: data.tokens }),
    }),
  )
}

function changed(
  state: CompactionsState,
  isMeant: (record: CompactionRecord) => boolean,
  change: (record: CompactionRecord) => CompactionRecord,
): CompactionsState {
  if (!state.records.some(isMeant)) return state
  const records = state.records.map((record) => (isMeant(record) ? Object.freeze(change(record)) : record))
  return { ...state, records }
}

function bounded({ records, droppedCount }: CompactionsState): CompactionsState {
  if (records.length <= recordsMax) return { records, droppedCount }
  const idle = records.findIndex((record) => !isLive(record) && record.isInForce !== true)
  const index = idle === -1 ? records.findIndex((record) => !isLive(record)) : idle
  return { records: records.toSpliced(Math.max(0, index), 1), droppedCount: droppedCount + 1 }
}

function over(
  { hasSummary: _hasSummary, ...record }: CompactionRecord,
  how: Omit<Partial<CompactionRecord>, 'hasSummary'>,
): CompactionRecord {
  return { ...record, ...how }
}

function orphaned(record: CompactionRecord): CompactionRecord {
  return over(record, { fate: 'orphaned' })
}

function replaced({ isInForce: _isInForce, ...record }: CompactionRecord): CompactionRecord {
  return record
}

function isLive({ fate }: CompactionRecord): boolean {
  return fate === 'live'
}

function isOrphanedAt(boundarySeq: number): (record: CompactionRecord) => boolean {
  return (record) => isLive(record) && isOrphaned(record.startSeq, boundarySeq)
}

function isLiveOf(id: string): (record: CompactionRecord) => boolean {
  return (record) => isLive(record) && record.id === id
}

/** A summary stands for its whole range, and is replaced with all of it or not at all. */
function isInside({ from, through }: SeqRange): (record: CompactionRecord) => boolean {
  return ({ isInForce, range }) => isInForce === true && from <= range.from && range.through <= through
}

/** What automatic compactions came to since the last one that was applied, whoever asked for that. */
export interface Attempts {
  readonly count: number
  /** Of the transcript when the last one began, as far as it is known. */
  readonly tokensAtLast?: number
  /** Of the transcript after the last one that was applied. */
  readonly tokensLeft?: number
}

/** Those of a caller who took back what he asked for are not counted. Pure. */
export function automaticAttempts({ records }: CompactionsState): Attempts {
  const applied = records.findLastIndex(({ fate }) => fate === 'applied')
  const tried = records.slice(applied + 1).filter(isUnapplied)
  const last = tried.at(-1)
  const tokensAtLast = last?.sizeBytes === undefined ? last?.tokens : roughTokens(last.sizeBytes)
  const tokensLeft = records[applied]?.tokensAfter
  return {
    count: tried.length,
    ...(tokensAtLast !== undefined && { tokensAtLast }),
    ...(tokensLeft !== undefined && { tokensLeft }),
  }
}

function isUnapplied({ trigger, fate, code }: CompactionRecord): boolean {
  return trigger === 'automatic' && fate !== 'live' && code !== 'ABORTED'
}
