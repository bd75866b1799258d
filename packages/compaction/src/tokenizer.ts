import { SessionError } from '@tidemark/session-core'

/** Counts what a text costs a model. Pure: the same text counts the same each time. */
export interface Tokenizer {
  readonly name: string
  count(text: string): number
}

export function isTokenizer(value: unknown): value is Tokenizer {
  return typeof value === 'object' && value !== null && 'count' in value && typeof value.count === 'function'
}

/**
 * It is foreign: with a count that is none, no budget would hold.
 * @throws SessionError `INVALID_EVENT` when it gives no count; nothing was recorded.
 */
export function tokensOf(text: string, tokenizer: Tokenizer): number {
  const count = tokenizer.count(text)
  if (Number.isSafeInteger(count) && count >= 0) return count
  throw new SessionError('INVALID_EVENT', `tokenizer ${tokenizer.name}: what it gave is no count of tokens`)
}
