import type { SessionEvent, ToolPart, UserPart } from '../event.ts'
import { messageEntry, type Entry } from './entry.ts'

/** A result that came after the end of its call stands at its own position. */
export function lateResult({ seq, data }: SessionEvent<'tool/result'>): Entry {
  const what = data.outcome === 'ok' ? 'result' : 'error'
  const heading = {
    type: 'text',
    author: 'tool',
    text: `Late ${what} of tool call call-${data.callSeq}:`,
  } as const
  return {
    ...messageEntry(seq, { role: 'user', parts: [heading, ...byTool(data.parts)] }),
    isLate: true,
  } as Entry
}

/** The same with other parts after its heading. */
export function lateWith(entry: Extract<Entry, { kind: 'message' }>, parts: readonly ToolPart[]): Entry {
  const messages = entry.messages.map((message) =>
    message.role === 'user'
      ? { ...message, parts: [...message.parts.slice(0, 1), ...byTool(parts)] }
      : message,
  )
  return { ...entry, messages }
}

function byTool(parts: readonly ToolPart[]): readonly UserPart[] {
  return parts.map((part): UserPart => ({ ...part, author: 'tool' }))
}
