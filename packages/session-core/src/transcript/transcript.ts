import { boundaryType } from '../boundary.ts'
import { foldBracket, nothingOpen, type BracketState, type Opening } from '../bracket.ts'
import { toolCall } from '../core.ts'
import {
  defineProjection,
  type Bracket,
  type Projection,
  type ProjectionContext,
  type Replacement,
} from '../definition.ts'
import type { AssistantPart, SessionEvent } from '../event.ts'
import { emptyList, insertedBefore, itemAt, lengthOf, pushed, replaced, type ChunkedList } from '../list.ts'
import { amended } from './amend.ts'
import { assistantEntry, callRecord, messageEntry, withCall, type CallRecord, type Entry } from './entry.ts'
import { lateResult } from './late.ts'
import type { ToolOutcome } from './message.ts'
import { replaceRange } from './replace.ts'

/** What has streamed of an assistant message that is not complete yet. */
interface Stream {
  readonly seq: number
  readonly through: number
  readonly text: string
  readonly reasoning: string
}

interface Replacing {
  readonly name: string
  readonly state: BracketState
}

/**
 * The state behind `messagesOf`.
 *
 * 1. Entries are in the order of their seqs. One may reach over the next: a message can come while a call runs.
 * 2. A call stands in the entry of its assistant message; its result joins it there, or is late.
 */
export interface TranscriptState {
  readonly entries: ChunkedList<Entry>
  readonly calls: BracketState
  /** Live brackets whose close may replace earlier entries. */
  readonly replacing: readonly Replacing[]
  readonly stream: Stream | undefined
  /** Whether a call may still join the last entry: nothing has ended that step. */
  readonly joins: boolean
}

/** The model-visible messages; read them with `messagesOf`. */
export const transcript: Projection<TranscriptState> = defineProjection({
  name: 'transcript',
  version: 3,
  asks: 'shown',
  init: () => ({
    entries: emptyList,
    calls: nothingOpen,
    replacing: [],
    stream: undefined,
    joins: false,
  }),
  apply: fold,
})

function fold(state: TranscriptState, event: SessionEvent, context: ProjectionContext): TranscriptState {
  const calls = foldBracket(toolCall, state.calls, event)
  const wasLive = event.type === 'tool/result' && findLive(state.calls, event.data.callSeq) !== undefined
  let next: TranscriptState = calls === state.calls ? state : { ...state, calls }
  if (endsStream(event.type)) next = { ...flushStream(next), joins: false }
  next = settleEnded(next, state.calls, { event, context })
  next = place(next, event, { context, wasLive })
  next = foldReplacing(next, event, context)
  const amendment = event.replaces && context.event(event.type)?.amends?.(event)
  return amendment ? { ...next, entries: amended(next.entries, amendment) } : next
}

function findLive(calls: BracketState, seq: number): Opening | undefined {
  return calls.live.find((opening) => opening.event.seq === seq)
}

function endsStream(type: string): boolean {
  return (
    type === boundaryType ||
    type === 'turn/start' ||
    type === 'turn/end' ||
    type === 'step/start' ||
    type === 'step/end'
  )
}

function flushStream(state: TranscriptState): TranscriptState {
  if (state.stream === undefined) return state
  const { seq, through, text, reasoning } = state.stream
  const parts: AssistantPart[] = []
  if (reasoning !== '') parts.push({ type: 'reasoning', text: reasoning })
  if (text !== '') parts.push({ type: 'text', text })
  const cleared = { ...state, stream: undefined }
  if (parts.length === 0) return cleared
  const entry: Entry = { ...assistantEntry(seq, parts), through, interrupted: true }
  // What came while it streamed stands after it.
  return { ...cleared, entries: insertedBefore(state.entries, entry, (later) => later.seq > seq) }
}

/** Calls that were live and are not any more, though no result came: says so where they stand. */
function settleEnded(
  state: TranscriptState,
  before: BracketState,
  { event, context }: { event: SessionEvent; context: ProjectionContext },
): TranscriptState {
  if (before.live === state.calls.live || event.type === 'tool/result' || event.type === 'tool/call')
    return state
  const outcome = outcomeBy(event, context)
  return before.live
    .filter((opening) => findLive(state.calls, opening.event.seq) === undefined)
    .reduce((next, opening) => changeCall(next, opening.event.seq, { outcome }), state)
}

function outcomeBy(event: SessionEvent, context: ProjectionContext): ToolOutcome {
  if (event.type !== boundaryType) return 'interrupted'
  return context.beginsFork(event) ? 'in-parent' : 'unknown'
}

/** Searches from the end: calls are live near the tail. */
function changeCall(state: TranscriptState, seq: number, change: Partial<CallRecord>): TranscriptState {
  for (let index = lengthOf(state.entries) - 1; index >= 0; index--) {
    const entry = itemAt(state.entries, index)
    if (entry === undefined || entry.through < seq) return state
    if (entry.kind !== 'assistant') continue
    const call = entry.calls.find((candidate) => candidate.seq === seq)
    if (call === undefined) continue
    return { ...state, entries: replaced(state.entries, index, withCall(entry, { ...call, ...change })) }
  }
  return state
}

interface Placing {
  readonly context: ProjectionContext
  readonly wasLive: boolean
}

function place(state: TranscriptState, event: SessionEvent, placing: Placing): TranscriptState {
  switch (event.type) {
    case 'user/message':
      return add(state, messageEntry(event.seq, { role: 'user', parts: event.data.parts }))
    case 'assistant/chunk':
      return stream(state, event)
    case 'assistant/message':
      return { ...add(state, assistantEntry(event.seq, event.data.parts)), stream: undefined, joins: true }
    case 'tool/call':
      return joinCall(state, callRecord(event))
    case 'tool/result':
      return joinResult(state, event, placing.wasLive)
    default:
      return addRendered(state, event, placing.context)
  }
}

function add(state: TranscriptState, entry: Entry): TranscriptState {
  return { ...state, entries: pushed(state.entries, entry), joins: false }
}

function addRendered(
  state: TranscriptState,
  event: SessionEvent,
  context: ProjectionContext,
): TranscriptState {
  const message = context.event(event.type)?.message?.(event)
  return message === undefined ? state : add(state, messageEntry(event.seq, message))
}

function stream(state: TranscriptState, { seq, data }: SessionEvent<'assistant/chunk'>): TranscriptState {
  const { kind, text } = data
  if (kind === 'call') return state
  const open = state.stream ?? { seq, through: seq, text: '', reasoning: '' }
  const grown = kind === 'text' ? { text: open.text + text } : { reasoning: open.reasoning + text }
  // What starts to stream is another message: a call that comes now is no part of the one before.
  const joins = state.joins && state.stream !== undefined
  return { ...state, joins, stream: { ...open, ...grown, through: seq } }
}

function joinCall(state: TranscriptState, call: CallRecord): TranscriptState {
  const index = lengthOf(state.entries) - 1
  const last = itemAt(state.entries, index)
  if (state.joins && last?.kind === 'assistant') {
    return { ...state, entries: replaced(state.entries, index, withCall(last, call)) }
  }
  return { ...add(state, withCall(assistantEntry(call.seq, []), call)), joins: true }
}

/** A result of a live call joins it; any other is late and stands at its own position. */
function joinResult(
  state: TranscriptState,
  event: SessionEvent<'tool/result'>,
  live: boolean,
): TranscriptState {
  const { callSeq, outcome, parts } = event.data
  const joined = live ? changeCall(state, callSeq, { outcome, parts, through: event.seq }) : state
  return joined === state ? add(state, lateResult(event)) : joined
}

/** Follows the brackets that replace earlier entries when they close. */
function foldReplacing(
  state: TranscriptState,
  event: SessionEvent,
  context: ProjectionContext,
): TranscriptState {
  const opened = context
    .brackets(event.type)
    .filter((bracket) => bracket.open === event.type && replaces(bracket, context))
  if (state.replacing.length === 0 && opened.length === 0) return state
  let entries = state.entries
  const followed = new Map(state.replacing.map(({ name, state: before }) => [name, before]))
  const { turnSeq, stepSeq } = state.calls
  for (const { name } of opened)
    if (!followed.has(name)) followed.set(name, { ...nothingOpen, turnSeq, stepSeq })
  const replacing: Replacing[] = []
  for (const [name, before] of followed) {
    const bracket = context.bracket(name)
    if (bracket === undefined) continue
    const replacement = replacementBy(event, before, { bracket, context })
    if (replacement) entries = replaceRange(entries, replacement)
    const after = foldBracket(bracket, before, event)
    if (after.live.length > 0) replacing.push({ name, state: after })
  }
  return { ...state, entries, replacing }
}

function replaces(bracket: Bracket, context: ProjectionContext): boolean {
  return bracket.close.some((type) => context.event(type)?.replaces !== undefined)
}

function replacementBy(
  event: SessionEvent,
  before: BracketState,
  { bracket, context }: { bracket: Bracket; context: ProjectionContext },
): Replacement | undefined {
  // A reader may carry what is not marked so, and then sees nothing replaced.
  if (!event.replaces || !bracket.close.includes(event.type)) return undefined
  const key = bracket.key(event)
  const opening = before.live.find((candidate) => candidate.key === key)
  return opening && context.event(event.type)?.replaces?.(opening.event, event, opening.inside)
}
