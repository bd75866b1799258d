import { createRequire } from 'node:module'
import type * as encodings from 'gpt-tokenizer/encoding/o200k_base'
import type { Tokenizer } from './tokenizer.ts'

type Encoding = typeof encodings

/** UTF-16 code units that the library is given at once: it is quadratic in the longest word. */
const pieceLengthMax = 256
/** Of the library's cache of words, which are as long as a piece at most. */
const cachedWordsMax = 16_384
// Where a letter or digit ends, a word ends, whatever follows, unless that is a mark, more of the same, or 's.
const wordEnd = /[\p{L}\p{N}]/u
const wordGoesOn = /[\p{L}\p{M}\p{N}\p{Cs}']/u
const plain = { disallowedSpecial: new Set<string>() }

let encoding: Encoding | undefined

/**
 * Tokens of the o200k encoding, by `gpt-tokenizer`. It is loaded at the first count, which takes some 0.4 s and holds
 * 35 MB. Never throws, and is linear in the text: it counts piece by piece. That is exact while a word ends in every
 * 256 characters; each piece that has to be cut inside a word may be off by two tokens. What looks like a
 * special token is counted as the plain text that it is.
 */
export const o200k: Tokenizer = Object.freeze({
  name: 'o200k',
  count(text: string): number {
    encoding ??= load()
    let tokens = 0
    for (let from = 0; from < text.length;) {
      const through = pieceEnd(text, from)
      tokens += encoding.countTokens(text.slice(from, through), plain)
      from = through
    }
    return tokens
  },
})

/** Synchronous, since a plan is; and late, since a host without a budget in tokens needs none of it. */
function load(): Encoding {
  const loaded = createRequire(import.meta.url)('gpt-tokenizer/encoding/o200k_base') as Encoding
  loaded.setMergeCacheSize(cachedWordsMax)
  return loaded
}

/** Where the last word ends that does so in the piece; else where the piece is full, beside a surrogate pair. */
function pieceEnd(text: string, from: number): number {
  const full = from + pieceLengthMax
  if (full >= text.length) return text.length
  for (let end = full; end > from; end--) {
    if (wordEnd.test(text.charAt(end - 1)) && !wordGoesOn.test(text.charAt(end))) return end
  }
  const isInPair = /[\ud800-\udbff]/.test(text.charAt(full - 1)) && /[\udc00-\udfff]/.test(text.charAt(full))
  return isInPair ? full - 1 : full
}
