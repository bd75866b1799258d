import { z } from 'zod'
import { extractive } from './extractive/extractive.ts'
import { isSummarizer, type Summarizer } from './summarizer.ts'

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
    /** How many messages at the end stay as they are. */
    retainMessages: z.int().min(0).max(10_000).default(8),
    /** Keys and texts of all facts in force, in UTF-8 bytes. */
    factsSizeBytesMax: z.int().min(1).max(1_048_576).default(16_384),
    factCountMax: z.int().min(1).max(1_000).default(64),
  })
  .prefault({})
/** What a host writes; everything has a default. */
export type Config = Readonly<z.input<typeof Config>>
export type Settings = Readonly<z.output<typeof Config>>
