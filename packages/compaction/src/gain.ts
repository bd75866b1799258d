import type { TranscriptMessage } from '@tidemark/session-core'
import type { CarriedFact } from './event.ts'
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

/**
 * Pins and blocks are not counted, since the next block shows again what they show. A fact that stands elsewhere, in
 * a person's message or in what stays, is one that the block adds.
 */
export function gainIn(
  messages: readonly TranscriptMessage[],
  facts: readonly CarriedFact[],
  tokenizer: Tokenizer | undefined,
): Gain {
  const said = messages.filter((message) => !isFacts(message))
  const added = addedBy(messages, facts)
  const frame = [summaryMessage('')]
  const addedSizeBytes = added.reduce((sum, text) => sum + sizeBytesOf(text), 0)
  const sizeBytes = messagesSizeBytes(said) - addedSizeBytes - messagesSizeBytes(frame) - 1
  if (tokenizer === undefined) return { sizeBytes, tokens: 0 }
  const addedTokens = added.reduce((sum, text) => sum + tokensOf(text, tokenizer), 0)
  const tokens = messagesTokens(said, tokenizer) - addedTokens - messagesTokens(frame, tokenizer) - 1
  return { sizeBytes, tokens }
}

/** The texts of the facts that no pin and no block among the messages shows. */
function addedBy(messages: readonly TranscriptMessage[], facts: readonly CarriedFact[]): string[] {
  const parts = messages.filter(isFacts).flatMap((message): readonly { type: string }[] => message.parts)
  const shown = new Set(parts.map((part) => ('text' in part ? part.text : undefined)))
  return facts.filter(({ text }) => !shown.has(text)).map(({ text }) => text)
}
