import type { TranscriptMessage } from '@tidemark/session-core'
import type { PinnedFact } from './fact.ts'
import { isFacts, summaryMessage } from './rendering.ts'
import { messagesSizeBytes, sizeBytesOf } from './size.ts'
import { messagesTokens } from './token-count.ts'
import { tokensOf, type Tokenizer } from './tokenizer.ts'

/** How long a summary of some messages may be, at most, to be smaller than they are. */
export interface Gain {
  readonly sizeBytes: number
  /** 0 without a tokenizer. */
  readonly tokens: number
}

/** Pins and blocks are not counted, and neither are labelled lines in force: all of them stand in the block again. */
export function gainIn(
  messages: readonly TranscriptMessage[],
  facts: readonly PinnedFact[],
  tokenizer: Tokenizer | undefined,
): Gain {
  const said = messages.filter((message) => !isFacts(message))
  const labelled = labelledIn(said, facts)
  const frame = [summaryMessage('')]
  const heldSizeBytes = labelled.reduce((sum, text) => sum + sizeBytesOf(text), 0)
  const sizeBytes = messagesSizeBytes(said) - heldSizeBytes - messagesSizeBytes(frame) - 1
  if (tokenizer === undefined) return { sizeBytes, tokens: 0 }
  const heldTokens = labelled.reduce((sum, text) => sum + tokensOf(text, tokenizer), 0)
  const tokens = messagesTokens(said, tokenizer) - heldTokens - messagesTokens(frame, tokenizer) - 1
  return { sizeBytes, tokens }
}

/** The texts of the facts whose messages stand here themselves, and not only a summary of them. */
function labelledIn(messages: readonly TranscriptMessage[], facts: readonly PinnedFact[]): string[] {
  const bySeq = new Map(messages.map((message) => [message.seq, message]))
  return facts
    .filter(({ from, seq, text }) => from === 'label' && holds(bySeq.get(seq), text))
    .map(({ text }) => text)
}

function holds(message: TranscriptMessage | undefined, line: string): boolean {
  if (message?.role !== 'user') return false
  return message.parts.some(
    (part) => part.type === 'text' && part.author === 'human' && part.text.includes(line),
  )
}
