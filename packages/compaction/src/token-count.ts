import type { RenderedMessage, TranscriptMessage } from '@tidemark/session-core'
import { messagesSizeBytes } from './size.ts'
import { tokensOf, type Tokenizer } from './tokenizer.ts'

/** What a provider adds around each message and each part, roughly. */
const messageFrameTokens = 4
const partFrameTokens = 2
/** Of a picture, however large: providers scale them down. */
const imageTokensMax = 2_000
const base64LengthPerToken = 16 / 3 // four bytes
/** Some 20 ms of counting. */
const turnSizeBytes = 65_536

type Message = RenderedMessage | TranscriptMessage
type Part = Message['parts'][number]
type FilePart = Extract<Part, { type: 'file' }>

const counted = new WeakMap<Tokenizer, WeakMap<Message, number>>()

/**
 * Tokens that messages take in a model's context, frames included. A message is counted once: its object stays the
 * same from one transcript to the next, so counting again costs what is new.
 */
export function messagesTokens(messages: readonly Message[], tokenizer: Tokenizer): number {
  return messages.reduce((sum, message) => sum + messageTokens(message, tokenizer), 0)
}

/** The same work, a piece at a time: whoever else has something to do comes in between. */
export async function countInTurns(messages: readonly Message[], tokenizer: Tokenizer): Promise<void> {
  let sizeBytes = 0
  for (const message of messages) {
    if (counted.get(tokenizer)?.has(message)) continue
    messageTokens(message, tokenizer)
    sizeBytes += messagesSizeBytes([message])
    if (sizeBytes < turnSizeBytes) continue
    sizeBytes = 0
    await new Promise(setImmediate)
  }
}

export function messageTokens(message: Message, tokenizer: Tokenizer): number {
  let known = counted.get(tokenizer)
  if (known === undefined) counted.set(tokenizer, (known = new WeakMap()))
  const tokens = known.get(message) ?? messageFrameTokens + partsTokens(message.parts, tokenizer)
  known.set(message, tokens)
  return tokens
}

function partsTokens(parts: readonly Part[], tokenizer: Tokenizer): number {
  return parts.reduce((sum, part) => sum + partFrameTokens + partTokens(part, tokenizer), 0)
}

function partTokens(part: Part, tokenizer: Tokenizer): number {
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return tokensOf(part.text, tokenizer)
    case 'file':
      return fileTokens(part, tokenizer)
    case 'tool-call': {
      const { id, name, arguments: args } = part
      return tokensOf(JSON.stringify({ id, name, arguments: args }), tokenizer)
    }
    case 'tool-result':
      return (
        tokensOf(`${part.id} ${part.name} ${part.outcome}`, tokenizer) + partsTokens(part.parts, tokenizer)
      )
  }
}

/** What a file holds is not read: four bytes are taken for a token. */
function fileTokens({ mediaType, name = '', uri = '', data = '' }: FilePart, tokenizer: Tokenizer): number {
  const held = Math.ceil(data.length / base64LengthPerToken)
  const shown = mediaType.startsWith('image/') ? Math.min(held, imageTokensMax) : held
  return shown + tokensOf(`${mediaType} ${name} ${uri}`, tokenizer)
}
