import type { AssistantPart, ToolPart, UserPart } from '../event.ts'
import type { JsonValue } from '../json.ts'

/** `id` is unique in the transcript; `callId` is what the provider called it, which may repeat. */
export interface ToolCallPart {
  readonly type: 'tool-call'
  readonly id: string
  readonly callId: string
  readonly name: string
  readonly arguments: JsonValue
}

/**
 * How a call ended, as far as this session knows.
 *
 * - `ok`, `error`: its result came.
 * - `running`: it is live.
 * - `interrupted`: its step or turn ended without it; whether it took effect is not known.
 * - `unknown`: its process ended without it; whether it took effect is not known.
 * - `in-parent`: it was running when this session was forked, and goes on there.
 */
export type ToolOutcome = 'ok' | 'error' | 'running' | 'interrupted' | 'unknown' | 'in-parent'

export interface ToolResultPart {
  readonly type: 'tool-result'
  readonly id: string
  readonly name: string
  readonly outcome: ToolOutcome
  readonly parts: readonly ToolPart[]
}

export interface UserTranscriptMessage {
  readonly role: 'user'
  readonly seq: number
  readonly parts: readonly UserPart[]
}
export interface AssistantTranscriptMessage {
  readonly role: 'assistant'
  readonly seq: number
  readonly parts: readonly (AssistantPart | ToolCallPart)[]
  /** What had streamed when it was cut short. */
  readonly interrupted?: true
}
/** The results of all calls of the assistant message before it, in the order of the calls. */
export interface ToolTranscriptMessage {
  readonly role: 'tool'
  readonly seq: number
  readonly parts: readonly ToolResultPart[]
}

/** What the model sees. Each tool call is followed at once by its result. */
export type TranscriptMessage = UserTranscriptMessage | AssistantTranscriptMessage | ToolTranscriptMessage
