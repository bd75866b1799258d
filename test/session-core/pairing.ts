import type { ToolCallPart, ToolResultPart, TranscriptMessage } from '@tidemark/session-core'

/**
 * What a provider that insists on pairing would refuse, as a list of complaints. Empty for a valid transcript.
 */
export function complaints(messages: readonly TranscriptMessage[]): string[] {
  const found: string[] = []
  const seen = new Set<string>()
  messages.forEach((message, index) => {
    const before = messages[index - 1]
    const after = messages[index + 1]
    if (message.parts.length === 0) found.push(`${index}: no parts`)
    for (const text of texts(message.parts)) {
      if (!text.isWellFormed()) found.push(`${index}: half a character`)
    }
    if (message.parts.some((part) => 'text' in part && part.text === '')) found.push(`${index}: empty text`)
    for (const id of callsOf(message)) {
      if (seen.has(id)) found.push(`${index}: ${id} twice`)
      seen.add(id)
    }
    if (callsOf(message).join() !== resultsOf(after).join())
      found.push(`${index}: calls without their results`)
    if (resultsOf(message).join() !== callsOf(before).join())
      found.push(`${index}: results without their calls`)
    for (const result of message.role === 'tool' ? message.parts : []) {
      if (result.parts.length === 0) found.push(`${index}: a result without content`)
    }
  })
  return found
}

function callsOf(message: TranscriptMessage | undefined): string[] {
  if (message?.role !== 'assistant') return []
  return message.parts.filter((part): part is ToolCallPart => part.type === 'tool-call').map(({ id }) => id)
}

function resultsOf(message: TranscriptMessage | undefined): string[] {
  if (message?.role !== 'tool') return []
  return message.parts.map(({ id }: ToolResultPart) => id)
}

/** Every string in a value, keys included. */
function* texts(value: unknown): Generator<string> {
  if (typeof value === 'string') yield value
  if (typeof value !== 'object' || value === null) return
  for (const [key, inner] of Object.entries(value)) {
    yield key
    yield* texts(inner)
  }
}
