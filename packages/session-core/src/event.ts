import type { JsonObject, JsonValue } from './json.ts'

/** Who wrote a part of a message. Only `human` is a person: a sub-agent's user message is its parent's text. */
export type Author = 'human' | 'agent' | 'file' | 'tool' | 'system'

export interface TextPart {
  readonly type: 'text'
  readonly text: string
}

export interface ReasoningPart {
  readonly type: 'reasoning'
  readonly text: string
  /** An opaque proof that some providers want back unchanged. */
  readonly signature?: string
}

/** A file by value (`data`, base64) or by reference (`uri`). */
export interface FilePart {
  readonly type: 'file'
  readonly mediaType: string
  readonly data?: string
  readonly uri?: string
  readonly name?: string
}

export type UserPart = (TextPart | FilePart) & { readonly author: Author }
export type AssistantPart = TextPart | ReasoningPart | FilePart
export type ToolPart = TextPart | FilePart

export type TurnEndReason = 'completed' | 'interrupted' | 'failed' | 'limit'

/** `meta` is the host's own: core stores it and never reads it. */
export interface WithMeta {
  readonly meta?: JsonObject
}

export type TurnStart = WithMeta
export interface TurnEnd extends WithMeta {
  readonly reason: TurnEndReason
}
export type StepStart = WithMeta
export type StepEnd = WithMeta
export interface UserMessage extends WithMeta {
  readonly parts: readonly UserPart[]
}
/** A streamed piece. `call` pieces are fragments of a tool call: the whole call is a `tool/call` of its own. */
export interface AssistantChunk extends WithMeta {
  readonly kind: 'text' | 'reasoning' | 'call'
  readonly text: string
}
export interface AssistantMessage extends WithMeta {
  readonly parts: readonly AssistantPart[]
}
/** `callId` is the provider's and may repeat or be empty; the call is known by the seq of this event. */
export interface ToolCall extends WithMeta {
  readonly callId: string
  readonly name: string
  readonly arguments: JsonValue
}
export interface ToolResult extends WithMeta {
  readonly callId: string
  /** The seq of the `tool/call` that this answers. */
  readonly callSeq: number
  readonly outcome: 'ok' | 'error'
  readonly parts: readonly ToolPart[]
}
/**
 * What a recovery set aside. `sizeBytes` and `digest` (SHA-256) are those of the bytes kept in quarantine, which
 * stood in `segment` from `offset` on. The log was whole up to `lastSeq`, and proven durable up to `durableSeq`:
 * by what, says `evidence`.
 */
export interface SessionRecovered {
  readonly reason: string
  readonly segment: string
  readonly offset: number
  readonly sizeBytes: number
  readonly digest: string
  readonly lastSeq: number
  readonly durableSeq: number
  readonly evidence: string
}
/** Ends one live bracket whose plugin went away without closing it. */
export interface BracketAbandoned {
  readonly bracket: string
  readonly openSeq: number
}

/** The payload of each event type. Plugins add theirs by merging into this interface. */
export interface SessionEventMap {
  'session/resumed': Readonly<Record<string, never>>
  'session/recovered': SessionRecovered
  'bracket/abandoned': BracketAbandoned
  'turn/start': TurnStart
  'turn/end': TurnEnd
  'step/start': StepStart
  'step/end': StepEnd
  'user/message': UserMessage
  'assistant/chunk': AssistantChunk
  'assistant/message': AssistantMessage
  'tool/call': ToolCall
  'tool/result': ToolResult
}

export type SessionEventType = keyof SessionEventMap

interface Envelope {
  readonly seq: number
  readonly time: number
  readonly ignorable?: true
  readonly replaces?: true
}

/**
 * One event of a log, deeply frozen.
 *
 * - `seq`: its position, contiguous from 0; the only order there is.
 * - `time`: milliseconds since the epoch as the clock told them; nothing sorts, expires or rejects by it.
 * - `ignorable`: a reader that does not know the type may carry it without understanding it.
 * - `replaces`: it changes what the model sees of earlier events, so no reader may carry it unknown.
 *
 * The union is of the types known at compile time; a log may also hold ignorable or carried events of others.
 */
export type SessionEvent<T extends SessionEventType = SessionEventType> = {
  readonly [K in T]: Envelope & { readonly type: K; readonly data: SessionEventMap[K] }
}[T]

/** An event as it comes from outside: from a file, another process, an importer. */
export interface AnySessionEvent extends Envelope {
  readonly type: string
  readonly data: unknown
}

/** Where a fork was cut: it inherited the events up to and including `seq`. */
export interface ForkPoint {
  readonly id: string
  /** -1 when the parent was empty. */
  readonly seq: number
}

/** What a salvaged session was made of. */
export interface SalvagedFrom {
  /** The session whose log was damaged. */
  readonly id: string
  /** Seqs of which nothing was left: an ignorable `tidemark/lost` stands for each. */
  readonly lost: number
  /** Events that could be read, and that nothing proves to be as they were written. */
  readonly unproven: number
  /** Where that log had been salvaged itself: from what, newest first. */
  readonly earlier?: readonly Omit<SalvagedFrom, 'earlier'>[]
}

export interface SessionHeader {
  readonly id: string
  /** Milliseconds since the epoch. */
  readonly createdAt: number
  /** Set on a fork. */
  readonly parent?: ForkPoint
  /** Where the forks were cut whose boundary this log holds, ascending; the last one is `parent.seq`. */
  readonly forkedAt?: readonly number[]
  /** Set on a session that holds what was left of a damaged one. */
  readonly salvaged?: SalvagedFrom
  /** The host's own. */
  readonly meta?: JsonObject
}
