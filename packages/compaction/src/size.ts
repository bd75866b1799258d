import type { RenderedMessage, TranscriptMessage } from '@tidemark/session-core'

/** What a provider adds around each message and each part, roughly. */
const frameSizeBytes = 16
const sizeBytesPerToken = 4

type Message = RenderedMessage | TranscriptMessage
type Part = Message['parts'][number]

export function sizeBytesOf(text: string): number {
  return Buffer.byteLength(text, 'utf8')
}

/** Where no tokenizer is asked. */
export function roughTokens(sizeBytes: number): number {
  return Math.ceil(sizeBytes / sizeBytesPerToken)
}

/** Bytes that messages take in a model's context, as a stand-in for tokens. O(their content). */
export function messagesSizeBytes(messages: readonly Message[]): number {
  return messages.reduce((sum, message) => sum + frameSizeBytes + partsSizeBytes(message.parts), 0)
}

function partsSizeBytes(parts: readonly Part[]): number {
  return parts.reduce((sum, part) => sum + partSizeBytes(part), 0)
}

function partSizeBytes(part: Part): number {
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return sizeBytesOf(part.text)
    case 'file':
      return sizeBytesOf(`${part.name ?? ''}${part.uri ?? ''}`) + (part.data?.length ?? 0)
    case 'tool-call':
      return sizeBytesOf(part.name) + sizeBytesOf(JSON.stringify(part.arguments))
    case 'tool-result':
      return partsSizeBytes(part.parts)
  }
}
