/**
 * Every code a `SessionError` of Tidemark can carry. Codes are API: they are added, never renamed.
 *
 * The event and its payload:
 * - `INVALID_PAYLOAD`: not lossless JSON, or deeper or larger than the stated limits.
 * - `INVALID_EVENT`: the schema of its type, or a rule of core, refuses it.
 * - `UNKNOWN_TYPE`: nobody defined the type.
 * - `RESERVED`: a type that only core writes.
 * - `ALREADY_OPEN`, `NOT_OPEN`: an opening or closing that fits no live bracket.
 *
 * The session:
 * - `INVALID_ID`, `INVALID_SEED`, `INVALID_SEQ`: what was asked for cannot be.
 * - `EXISTS`, `NOT_FOUND`: by id.
 * - `DISPOSED`: the session is over, or its writer is.
 * - `OWNED`: a name of the vocabulary belongs to another owner.
 * - `NOT_LOADED`: the answer would need events that are not in memory.
 * - `PROJECTION_FAILED`: a projection threw; `seq` says at which event.
 * - `UNFIT_STATE`: a projection's state is no plain data, so that no snapshot holds it; `name` and `path` say where.
 * - `BACK_PRESSURE`: too much is waiting; try again after a flush.
 *
 * Storage:
 * - `LOCKED`: another writer holds it; `holder` says who.
 * - `FENCED`: another writer took over; this one is over.
 * - `TAIL_MOVED`, `SEALED`, `CONFLICT`, `OUTCOME_UNKNOWN`: what an append to a lease can meet.
 * - `CORRUPT`: bytes that do not fit; `segment`, `offset` and `intactThrough` say where.
 * - `UNSUPPORTED_FORMAT`: written by a newer or a foreign program.
 * - `STORAGE_FAILED`: a read, write or sync failed; the handle is over.
 * - `DISABLED`: persistence is off, or its storage cannot do what was asked.
 * - `DENIED`: no explicit permission.
 *
 * Compaction:
 * - `BUSY`: a live compaction holds the session.
 * - `PINS_TOO_LARGE`: the pinned facts alone do not fit the budget.
 */
export type SessionErrorCode =
  | 'INVALID_PAYLOAD'
  | 'INVALID_EVENT'
  | 'UNKNOWN_TYPE'
  | 'RESERVED'
  | 'ALREADY_OPEN'
  | 'NOT_OPEN'
  | 'INVALID_ID'
  | 'INVALID_SEED'
  | 'INVALID_SEQ'
  | 'EXISTS'
  | 'NOT_FOUND'
  | 'DISPOSED'
  | 'OWNED'
  | 'NOT_LOADED'
  | 'PROJECTION_FAILED'
  | 'UNFIT_STATE'
  | 'BACK_PRESSURE'
  | 'LOCKED'
  | 'FENCED'
  | 'TAIL_MOVED'
  | 'SEALED'
  | 'CONFLICT'
  | 'OUTCOME_UNKNOWN'
  | 'CORRUPT'
  | 'UNSUPPORTED_FORMAT'
  | 'STORAGE_FAILED'
  | 'DISABLED'
  | 'DENIED'
  | 'BUSY'
  | 'PINS_TOO_LARGE'
