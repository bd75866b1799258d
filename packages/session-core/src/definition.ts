import type {
  AnySessionEvent,
  SessionEvent,
  SessionEventType,
  ToolPart,
  UserPart,
  AssistantPart,
} from './event.ts'
import type { SessionSource } from './beginning.ts'
import type { JsonValue } from './json.ts'
import type { SessionView } from './view.ts'

/** The part of a Standard Schema that core calls; every zod 4 schema has it. */
export interface EventSchema {
  readonly '~standard': {
    readonly validate: (
      value: unknown,
    ) => { readonly issues?: readonly SchemaIssue[] | undefined } | Promise<unknown>
  }
}

interface SchemaIssue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

/** What a plugin's own event looks like to the model, at its position in the transcript. */
export type RenderedMessage =
  | { readonly role: 'user'; readonly parts: readonly UserPart[] }
  | { readonly role: 'assistant'; readonly parts: readonly AssistantPart[] }

/** From and through are seqs, both inclusive; what stands in the transcript for them is replaced by `messages`. */
export interface Replacement {
  readonly from: number
  readonly through: number
  readonly messages: readonly RenderedMessage[]
}

/** From its event on the transcript shows `parts` in the place of those of the result at `resultSeq`. */
export interface Amendment {
  /** The seq of a `tool/result` before it. */
  readonly resultSeq: number
  readonly parts: readonly ToolPart[]
}

/** What core must know of one event type. */
export interface EventDefinition {
  /** Checks a payload at append, and never changes or strips it. Not run again on history. */
  readonly schema: EventSchema
  /** Events of this type may be carried by a program that does not know it. */
  readonly ignorable?: true
  /** Top-level fields that hold ids: the host's `redact` never sees or changes them. */
  readonly ids?: readonly string[]
  /** Brings a payload from history to today's shape, or returns it as it is. Pure and idempotent. */
  readonly upcast?: (data: JsonValue) => JsonValue
  /** Makes this event visible to the model. Pure. */
  readonly message?: (event: SessionEvent) => RenderedMessage | undefined
  /**
   * On the type that closes a bracket: what the closed bracket replaces in the transcript, if anything. `inside`
   * holds the bracket's `inside` events. Pure. Such a type is never ignorable, and never carried unknown.
   */
  readonly replaces?: (
    open: SessionEvent,
    close: SessionEvent,
    inside: readonly SessionEvent[],
  ) => Replacement | undefined
  /**
   * What the transcript shows of an earlier tool result from this event on. A later amendment takes the place of an
   * earlier one; one of a result that the transcript does not show changes nothing. Pure. Such a type is never
   * ignorable, and never carried unknown.
   */
  readonly amends?: (event: SessionEvent) => Amendment | undefined
  /**
   * The payload of this type that a session begins with, or nothing. Asked once for every session, however it is made,
   * before it can be appended to: `heir` is the session, as far as it was inherited, and `source` says where it comes
   * from. Recorded as its first own event after the boundary. What throws here keeps the session from being made.
   * Such a type neither replaces nor amends, and is of no bracket.
   */
  readonly begins?: (heir: SessionView, source: SessionSource) => unknown
  /**
   * Says something of what is written with it, such as who may read it: so it is recorded however much waits to be
   * written, and also in a session that has ended, as long as that is being written.
   */
  readonly accompanies?: true
}

export type BracketKey = string | number

/** An operation that one event opens and another closes. */
export interface Bracket {
  readonly name: string
  readonly open: string
  readonly close: readonly string[]
  /** Types that belong to an open bracket of the same key without closing it. */
  readonly inside: readonly string[]
  /** Links a closing (or inside) event to its opening: equal keys belong together. */
  readonly key: (event: SessionEvent) => BracketKey
  /**
   * `turn`: the end of the turn or step that it was opened in ends it as abandoned.
   * `session`: it may outlive turns; only its own close or a boundary ends it.
   */
  readonly scope: 'turn' | 'session'
  /**
   * Whether a close is still accepted after the bracket was orphaned or abandoned. So it is with core's tool calls,
   * whose results the model must see; a plugin's bracket has none of it: begin again instead.
   */
  readonly late: boolean
  /**
   * What stands from its opening to its close is kept or replaced together: a compaction never cuts inside, nor takes
   * anything from the opening of a live one on. Default: it may be cut, and holds nothing up.
   */
  readonly indivisible?: true
  /** The close to record when the plugin goes away while the bracket is live. */
  readonly settle?: (open: SessionEvent) => { readonly type: string; readonly data: unknown }
}

export interface BracketInput<
  Open extends SessionEventType = SessionEventType,
  Close extends SessionEventType = SessionEventType,
  Inside extends SessionEventType = SessionEventType,
> {
  readonly name: string
  readonly open: Open
  readonly close: Close | readonly Close[]
  readonly inside?: readonly Inside[]
  /** Asked of events of these types only. Default: one key for all, so that at most one is open. */
  readonly key?: (event: SessionEvent<NoInfer<Open | Close | Inside>>) => BracketKey
  readonly scope?: Bracket['scope']
  readonly indivisible?: true
  readonly settle?: (open: SessionEvent<NoInfer<Open>>) => { readonly type: string; readonly data: unknown }
}

/**
 * Declares a bracket. An opening before the last boundary is orphaned and one after it is live; see `Session.open`.
 * When the plugin that defined it goes away, a live one is closed with what `settle` gives, or else by a
 * `bracket/abandoned`.
 */
export function defineBracket<
  Open extends SessionEventType,
  Close extends SessionEventType,
  Inside extends SessionEventType = never,
>(input: BracketInput<Open, Close, Inside>): Bracket {
  const { name, open, close, inside = [], key = () => '', scope = 'turn', indivisible, settle } = input
  const closes = typeof close === 'string' ? [close] : [...close]
  return Object.freeze({
    name,
    open,
    close: closes,
    inside,
    // Core asks it of no other types than those that stand above.
    key: key as Bracket['key'],
    scope,
    late: false,
    ...(indivisible !== undefined && { indivisible }),
    ...(settle && { settle: settle as NonNullable<Bracket['settle']> }),
  })
}

/**
 * What a projection may ask beside its events. Nothing of the header that a fork has differently: states are shared
 * with forks, in memory and in snapshots.
 */
export interface ProjectionContext {
  /** Whether an event of this log is the boundary that a fork began with. */
  readonly beginsFork: (event: SessionEvent) => boolean
  /** What the vocabulary says of a type now. */
  readonly event: (type: string) => EventDefinition | undefined
  readonly bracket: (name: string) => Bracket | undefined
  /** The brackets that a type opens, closes or belongs to. */
  readonly brackets: (type: string) => readonly Bracket[]
}

/**
 * State derived from the log, event by event. `apply` is pure: it returns a new state, or the same one, and never
 * changes the old one. A snapshot holds the state, so it is plain data; a changed meaning needs a new `version`.
 */
export interface Projection<State> {
  readonly name: string
  readonly version: number
  /**
   * `shown`: of a type it uses `message`, `amends` and `replaces` only, and of brackets those that replace what the
   * model sees. A state that asked the vocabulary is folded anew when it would be told otherwise; so, less often.
   */
  readonly asks?: 'shown'
  readonly init: () => State
  readonly apply: (state: State, event: SessionEvent, context: ProjectionContext) => State
}

export function defineProjection<State>(projection: Projection<State>): Projection<State> {
  return Object.freeze({ ...projection })
}

/** One plugin's share of the vocabulary. */
export interface Definitions {
  /** Who answers for these names: usually the plugin's name. */
  readonly owner: string
  readonly events?: Readonly<Record<string, EventDefinition>>
  readonly brackets?: readonly Bracket[]
  // A projection is used with its own state type only, which the list cannot say.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly projections?: readonly Projection<any>[]
}

/** Narrows an event to one type. */
export function isEvent<T extends SessionEventType>(
  event: AnySessionEvent,
  type: T,
): event is SessionEvent<T> {
  return event.type === type
}
