import type { RenderedMessage } from '../definition.ts'
import type { AssistantPart, SessionEvent, ToolPart } from '../event.ts'
import type { JsonValue } from '../json.ts'
import type { ToolOutcome } from './message.ts'

/** A call with what is known of its end; it stands with its assistant message, so the pair is never split. */
export interface CallRecord {
  readonly seq: number
  /** The seq of its result, or its own as long as there is none. */
  readonly through: number
  readonly callId: string
  readonly name: string
  readonly arguments: JsonValue
  readonly outcome: ToolOutcome
  readonly parts: readonly ToolPart[]
}

interface Span {
  readonly seq: number
  /** The last seq that this entry stands for. */
  readonly through: number
}

/** One place in the transcript. `message` is given by the log, `assistant` is put together from several events. */
export type Entry =
  | (Span & {
      readonly kind: 'message'
      readonly messages: readonly RenderedMessage[]
      /** A tool result that came after the end of its call; its first part says so. */
      readonly isLate?: true
    })
  | (Span & {
      readonly kind: 'assistant'
      readonly parts: readonly AssistantPart[]
      readonly calls: readonly CallRecord[]
      readonly interrupted: boolean
    })

export type AssistantEntry = Extract<Entry, { kind: 'assistant' }>

export function messageEntry(seq: number, message: RenderedMessage): Entry {
  return { kind: 'message', seq, through: seq, messages: [message] }
}

export function assistantEntry(seq: number, parts: readonly AssistantPart[]): AssistantEntry {
  return { kind: 'assistant', seq, through: seq, parts, calls: [], interrupted: false }
}

export function callRecord(event: SessionEvent<'tool/call'>): CallRecord {
  const { callId, name, arguments: args } = event.data
  return { seq: event.seq, through: event.seq, callId, name, arguments: args, outcome: 'running', parts: [] }
}

/** The entry with a call added, or with what is known of one changed. Calls stand in the order of the log. */
export function withCall(entry: AssistantEntry, call: CallRecord): AssistantEntry {
  const index = entry.calls.findLastIndex(({ seq }) => seq === call.seq)
  const calls = index === -1 ? [...entry.calls, call] : entry.calls.with(index, call)
  return { ...entry, calls, through: Math.max(entry.through, call.through) }
}
