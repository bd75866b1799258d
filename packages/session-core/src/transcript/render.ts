import { itemsOf } from '../list.ts'
import type { AssistantPart, ToolPart, UserPart } from '../event.ts'
import { deepFreeze, type JsonValue } from '../json.ts'
import type { AssistantEntry, CallRecord, Entry } from './entry.ts'
import type { ToolCallPart, ToolOutcome, ToolResultPart, TranscriptMessage } from './message.ts'
import type { TranscriptState } from './transcript.ts'
import { wellFormed } from './well-formed.ts'

const rendered = new WeakMap<TranscriptState, readonly TranscriptMessage[]>()
/** Entries stay the same from one state to the next. */
const renderedEntries = new WeakMap<Entry, readonly TranscriptMessage[]>()

/**
 * The messages that a model is given: every tool call followed by its result, ids unique, text well-formed, nothing
 * empty. The same for a live session, the same log read cold, and a fork. Deeply frozen. O(messages) once for each
 * state.
 */
export function messagesOf(state: TranscriptState): readonly TranscriptMessage[] {
  const known = rendered.get(state)
  if (known) return known
  const messages: TranscriptMessage[] = []
  for (const entry of itemsOf(state.entries)) {
    for (const message of messagesOfEntry(entry)) messages.push(message)
  }
  rendered.set(state, Object.freeze(messages))
  return messages
}

function messagesOfEntry(entry: Entry): readonly TranscriptMessage[] {
  const known = renderedEntries.get(entry)
  if (known) return known
  const messages = wellFormed(render(entry) as TranscriptMessage[] & JsonValue)
  deepFreeze(messages as unknown as JsonValue)
  renderedEntries.set(entry, messages)
  return messages
}

function render(entry: Entry): readonly TranscriptMessage[] {
  if (entry.kind === 'assistant') return renderAssistant(entry)
  return entry.messages.flatMap(({ role, parts }) => {
    const filled = parts.filter(isFilled)
    return filled.length === 0 ? [] : [{ role, seq: entry.seq, parts: filled } as TranscriptMessage]
  })
}

function renderAssistant({
  seq,
  calls,
  interrupted,
  ...entry
}: AssistantEntry): readonly TranscriptMessage[] {
  const parts = [...entry.parts.filter(isFilled), ...calls.map(callPart)]
  if (parts.length === 0) return []
  const message: TranscriptMessage = { role: 'assistant', seq, parts, ...(interrupted && { interrupted }) }
  return calls.length === 0 ? [message] : [message, { role: 'tool', seq, parts: calls.map(resultPart) }]
}

function callPart({ seq, callId, name, arguments: args }: CallRecord): ToolCallPart {
  return { type: 'tool-call', id: `call-${seq}`, callId, name, arguments: args }
}

function resultPart({ seq, name, outcome, parts }: CallRecord): ToolResultPart {
  const shown = parts.filter(isFilled)
  return {
    type: 'tool-result',
    id: `call-${seq}`,
    name,
    outcome,
    parts: shown.length > 0 ? shown : [note(outcome)],
  }
}

const notes: Readonly<Record<ToolOutcome, string>> = {
  ok: '(no output)',
  error: '(failed without output)',
  running: 'Still running: no result yet.',
  interrupted: 'Interrupted: outcome unknown. It may have taken effect and was not run again.',
  unknown: 'The process ended: outcome unknown. It may have taken effect and was not run again.',
  'in-parent': 'Continues in the parent: outcome unknown here. It was not run again.',
}

function note(outcome: ToolOutcome): ToolPart {
  return { type: 'text', text: notes[outcome] }
}

function isFilled(part: UserPart | AssistantPart | ToolPart): boolean {
  return !('text' in part) || part.text !== ''
}
