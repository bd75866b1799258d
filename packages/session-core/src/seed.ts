import type { SessionSource } from './beginning.ts'
import { coreSchemas } from './core.ts'
import type { EventSchema } from './definition.ts'
import { SessionError } from './errors.ts'
import type { AnySessionEvent, SessionEvent } from './event.ts'
import type { FoldSeed } from './fold.ts'
import { assertLossless, deepFreeze, type JsonValue } from './json.ts'
import { EventLog, type LogView } from './log.ts'
import { refusal } from './schema.ts'
import type { SnapshotStates } from './snapshot.ts'
import type { Vocabulary } from './vocabulary.ts'

/** A session's log up to one seq, to be shared with a fork: nothing of it is copied. See `Session.seed`. */
export class SessionSeed {
  constructor(
    readonly log: LogView,
    readonly folds: FoldSeed,
    readonly origin: SeedOrigin = {},
  ) {}
}

/** What a session needs to know of the one that its seed was taken from. */
export interface SeedOrigin {
  /** What was folded rests on it. */
  readonly forkedAt?: readonly number[] | undefined
  readonly restored?: SnapshotStates | undefined
  /** The session itself, in whole. */
  readonly source?: SessionSource
}

export type Seed = Iterable<AnySessionEvent> | SessionSeed

/** What a session starts with. History that was brought to a newer shape is folded anew. */
export interface Inherited {
  readonly log: EventLog
  readonly folds?: FoldSeed
  readonly restored?: SnapshotStates | undefined
}

export interface SeedRules {
  readonly vocabulary: Vocabulary
  /** Types that may be carried although nobody here knows them. */
  readonly carry: ReadonlySet<string>
  /** `forkedAt` of what is to be seeded. */
  readonly forkedAt?: readonly number[] | undefined
}

/**
 * The log that a seed stands for. History is taken as history: a schema that was tightened later is not asked.
 *
 * @throws SessionError `INVALID_SEED` with the seq, when it is not a log; `UNKNOWN_TYPE`; `INVALID_PAYLOAD`.
 */
export function readSeed(seed: Seed, rules: SeedRules): Inherited {
  if (seed instanceof SessionSeed) return shareSeed(seed, rules)
  if (!isIterable(seed))
    throw new SessionError('INVALID_SEED', 'a seed is a list of events; nothing was created')
  return { log: grown(new EventLog(), seed, rules) }
}

/** History that stands before what a session holds in memory, as the session would hold it. */
export function readHistory(
  events: Iterable<AnySessionEvent>,
  from: number,
  rules: SeedRules,
): readonly SessionEvent[] {
  return acceptAll(events, from, rules).map(freeze)
}

/** The log with more events: all of them or none. They are frozen once all are known to fit: what is refused stays as it was. */
export function grown(log: EventLog, events: Iterable<AnySessionEvent>, rules: SeedRules): EventLog {
  for (const event of acceptAll(events, log.length, rules)) log.push(freeze(event))
  return log
}

function acceptAll(events: Iterable<AnySessionEvent>, from: number, rules: SeedRules): SessionEvent[] {
  const accepted: SessionEvent[] = []
  for (const event of events) accepted.push(accept(event, from + accepted.length, rules))
  return accepted
}

function isIterable(seed: unknown): boolean {
  return typeof seed === 'object' && seed !== null && Symbol.iterator in seed
}

function shareSeed({ log: view, folds, origin }: SessionSeed, rules: SeedRules): Inherited {
  for (const first of view.types.values()) rules.vocabulary.refuseUnknown(first, rules.carry)
  const within = (cuts: readonly number[] = []): string => cuts.filter((seq) => seq < view.length - 1).join()
  const isSame = within(origin.forkedAt) === within(rules.forkedAt)
  const restored = isSame ? origin.restored : undefined
  if (!rules.vocabulary.hasUpcast(view.types.keys()))
    return { log: new EventLog(view), restored, ...(isSame && { folds }) }
  const log = new EventLog({ base: view.base, types: view.uses() })
  for (const event of view) log.push(upcast(event, rules))
  // Where not all events are there to be folded anew, what was folded over them is all there is.
  return { log, restored, ...(isSame && view.base > 0 && { folds }) }
}

function accept(event: AnySessionEvent, seq: number, rules: SeedRules): SessionEvent {
  if (typeof event !== 'object' || event === null) throw invalid(seq, 'is no event')
  const { type, time, data, ignorable, replaces } = event
  if (event.seq !== seq) throw invalid(seq, `does not hold seq ${seq}: a log has no gaps and no repeats`)
  if (typeof type !== 'string' || type === '') throw invalid(seq, 'has no type')
  if (typeof time !== 'number' || !Number.isFinite(time)) throw invalid(seq, 'has no time')
  if ((ignorable ?? true) !== true || (replaces ?? true) !== true)
    throw invalid(seq, 'has a flag that is not true')
  assertLossless(data, { type, seq })
  const flags = { ...(ignorable && { ignorable }), ...(replaces && { replaces }) }
  rules.vocabulary.refuseUnknown({ seq, type, ...flags }, rules.carry)
  const inherited = upcast({ seq, time: time + 0, type, data, ...flags } as unknown as SessionEvent, rules)
  refuseMisshapen(inherited)
  return inherited
}

// A plugin's types are no keys of it.
const shapes: Readonly<Record<string, EventSchema | undefined>> = coreSchemas

/** Core's own folds rely on core's shapes. They are never tightened without an upcast. */
function refuseMisshapen({ seq, type, data }: SessionEvent): void {
  const schema = Object.hasOwn(shapes, type) ? shapes[type] : undefined
  const issue = schema && refusal(schema, data)
  if (issue) throw invalid(seq, `is no ${type}: ${issue.path} ${issue.reason}`)
}

function upcast(event: SessionEvent, { vocabulary }: SeedRules): SessionEvent {
  const data = recast(event, vocabulary)
  if (data === (event.data as unknown)) return event
  assertLossless(data, { type: event.type, seq: event.seq })
  return freeze({ ...event, data } as unknown as SessionEvent)
}

function recast({ type, seq, data }: SessionEvent, vocabulary: Vocabulary): JsonValue {
  try {
    return vocabulary.upcast(type, data as unknown as JsonValue)
  } catch (cause) {
    const message = `seed: the ${type} at ${seq} is of a shape that its upcast cannot read; nothing was created`
    throw new SessionError('INVALID_SEED', message, { type, seq, intactThrough: seq - 1, cause })
  }
}

export function freeze(event: SessionEvent): SessionEvent {
  deepFreeze(event.data as unknown as JsonValue)
  return Object.freeze(event)
}

function invalid(seq: number, what: string): SessionError {
  return new SessionError('INVALID_SEED', `seed: the event at ${seq} ${what}; nothing was created`, {
    seq,
    intactThrough: seq - 1,
  })
}
