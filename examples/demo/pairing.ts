import type { TranscriptMessage } from '@tidemark/session-core'

/** What a provider that insists on pairing would refuse: a call without its result right after it. */
export function findUnpaired(messages: readonly TranscriptMessage[]): string | undefined {
  const known = new Set<string>()
  for (const [index, message] of messages.entries()) {
    const called = callIds(message)
    if (called.some((id) => known.has(id))) return `message ${index} calls under an id used before`
    called.forEach((id) => known.add(id))
    const next = messages[index + 1]
    const answered = next?.role === 'tool' ? next.parts.map(({ id }) => id) : []
    if (message.role !== 'assistant' && answered.length > 0) return `message ${index + 1} answers no call`
    if (message.role === 'assistant' && called.join() !== answered.join()) {
      return `message ${index} calls ${called.length} tools, and ${answered.length} results follow`
    }
  }
  return messages[0]?.role === 'tool' ? 'message 0 answers no call' : undefined
}

function callIds(message: TranscriptMessage): readonly string[] {
  if (message.role !== 'assistant') return []
  return message.parts.flatMap((part) => (part.type === 'tool-call' ? [part.id] : []))
}
