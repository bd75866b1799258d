import { z } from 'zod'
import { extractive } from './extractive/extractive.ts'
import { factCountHardMax, factsSizeBytesHardMax } from './facts-edit.ts'
import { labelledLines, labelsDefault } from './label.ts'
import { o200k } from './o200k.ts'
import { resultSizeBytesMin } from './prune.ts'
import { isSummarizer, type Summarizer } from './summarizer.ts'
import { isTokenizer, type Tokenizer } from './tokenizer.ts'

// It begins a line, so it must not be able to end one, or be taken for a quotation, a list marker or a fence.
const label = z
  .string()
  .regex(/^[^\s>][^\r\n]{0,63}$/)
  .refine(isReadable, 'a label must be what a line begins with: no list marker, and no fence of code')

function isReadable(label: string): boolean {
  return labelledLines(`${label} text`, [label]).some(({ kind }) => kind === 'fact')
}

export const Config = z
  .strictObject({
    /** Default: extractive, which needs no model and no network. */
    summarizer: z
      .custom<Summarizer>(isSummarizer, 'summarizer has a function `summarize`')
      .default(extractive),
    /** After this long the summarizer's answer is not waited for any more. */
    summaryTimeoutMs: z.int().min(1).max(3_600_000).default(60_000),
    /** A longer summary, in UTF-8 bytes, is a failure. */
    summarySizeBytesMax: z.int().min(256).max(1_048_576).default(16_384),
    /** How many messages at the end stay as they are, where there is no budget in tokens. */
    retainMessages: z.int().min(0).max(10_000).default(8),
    /** Keys and texts of all facts in force, in UTF-8 bytes. */
    factsSizeBytesMax: z.int().min(1).max(factsSizeBytesHardMax).default(16_384),
    factCountMax: z.int().min(1).max(factCountHardMax).default(64),
    /** What a person writes at the beginning of a line to pin it. */
    labels: z
      .array(label)
      .max(32)
      .default([...labelsDefault]),
    /** Tokens that the transcript may take; without it nothing is counted in tokens. */
    contextTokensMax: z.int().min(256).max(1_000_000_000).optional(),
    /** `maybeCompact` compacts above this share of the context. */
    triggerRatio: z.number().gt(0).max(1).default(0.8),
    /** How many tokens at the end stay as they are. Default: a quarter of the context. */
    retainTokens: z.int().min(0).max(1_000_000_000).optional(),
    tokenizer: z.custom<Tokenizer>(isTokenizer, 'tokenizer has a function `count`').default(o200k),
    /** Compacts by itself above that share, at the end of steps and turns. */
    automatic: z.boolean().default(false),
    /** After so many failures in a row, as the log tells, none is begun until the transcript has grown a lot. */
    attemptsMax: z.int().min(1).max(100).default(3),
    /** Larger results of tools are cut first, of a session that is over its budget, in UTF-8 bytes. */
    pruneResultsSizeBytes: z.int().min(resultSizeBytesMin).max(1_073_741_824).optional(),
  })
  .refine(
    ({ contextTokensMax, automatic }) => contextTokensMax !== undefined || !automatic,
    'automatic needs contextTokensMax',
  )
  .refine(
    ({ contextTokensMax, retainTokens }) => contextTokensMax !== undefined || retainTokens === undefined,
    'retainTokens needs contextTokensMax',
  )
  .prefault({})
/** What a host writes; everything has a default. */
export type Config = Readonly<z.input<typeof Config>>
export type Settings = Readonly<z.output<typeof Config>>
