import type { LanguageModel } from 'ai'
import { z } from 'zod'

const hourMs = 3_600_000

export const Options = z.strictObject({
  model: z.custom<LanguageModel>(isModel, 'model is a language model of the AI SDK'),
  /** What the summary shall hold; stands in the place of our own words, and never of the rules about the data. */
  instructions: z.string().trim().min(1).max(16_384).optional(),
  /** Default: as many as the model gives, or the request's `tokensMax`. */
  maxOutputTokens: z.int().min(1).max(1_000_000).optional(),
  /** After a first attempt that may be repeated. */
  maxRetries: z.int().min(0).max(10).default(2),
  name: z.string().min(1).max(128).optional(),
  /** For all attempts and the waits between them. */
  timeoutMs: z.int().min(1).max(hourMs).default(300_000),
  /** How long the model may say nothing, before its first word and between any two. */
  stallTimeoutMs: z.int().min(1).max(hourMs).default(30_000),
  /** Before the second attempt, where the server names no time; doubled for each one after it. */
  retryDelayMs: z.int().min(0).max(30_000).default(1_000),
  /** Of the transcript as the model gets it, in UTF-8 bytes; a longer one keeps its beginning and its end. */
  inputSizeBytesMax: z.int().min(16_384).max(67_108_864).default(1_048_576),
})
/** What a host writes; only the model has no default. */
export type AiSdkSummarizerOptions = Readonly<z.input<typeof Options>>
export type Settings = Readonly<z.output<typeof Options>>

function isModel(value: unknown): boolean {
  if (typeof value === 'string') return value !== ''
  return typeof value === 'object' && value !== null && 'doStream' in value && 'modelId' in value
}
