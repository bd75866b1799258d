import type { Summarizer } from '../summarizer.ts'
import { extractFrom } from './quotes.ts'
import { compose } from './wording.ts'

const sizeBytesDefault = 4_096

/**
 * The summarizer that needs no model and no network: it quotes what people asked, what the agent concluded, which
 * tools it called and which files were named. The same messages and the same bound give the same bytes. An extract
 * made of an extract goes on from it, so the first request survives any number of rounds.
 */
export const extractive: Summarizer = Object.freeze({
  name: 'extractive',
  summarize: async ({ messages, sizeBytesMax, tokensMax = sizeBytesMax }) => ({
    // No text has more tokens than bytes.
    text: compose(extractFrom(messages), Math.min(sizeBytesMax, tokensMax, sizeBytesDefault)),
  }),
} satisfies Summarizer)
