import { coreSchemas } from '@tidemark/session-core'
import { z } from 'zod'
import { digestOf } from './digest.ts'
import type { CompactionErrorCode } from './event.ts'
import { summaryAuthors } from './summary-author.ts'

const keyLengthMax = 128
export const nameLengthMax = 200

const seq = z.int().min(0)
const id = z.string().min(1).max(nameLengthMax)
const by = z.string().min(1).max(nameLengthMax)
// A key stands in a line of the transcript, so it must not be able to end that line. Joiners belong to words and emoji.
const keyCharacter = '(?:[^\\p{C}\\p{Zl}\\p{Zp}]|[\\u200c\\u200d])'
const key = z.string().regex(new RegExp(`^(?![\\u200c\\u200d]*$)${keyCharacter}{1,${keyLengthMax}}$`, 'u'))
// Blank text would not be rendered, and half a surrogate pair would be rendered as something else.
const text = z.string().refine((value) => value.trim() !== '' && value.isWellFormed())

export function isFactKey(value: string): boolean {
  return key.safeParse(value).success
}

const codes = [
  'ABORTED',
  'UNLOADED',
  'SUMMARIZER_FAILED',
  'SUMMARY_TIMEOUT',
  'SUMMARY_INVALID',
  'SUMMARY_EMPTY',
  'SUMMARY_TOO_LARGE',
  'SUMMARY_NOT_SMALLER',
  'SUMMARY_REFUSED',
  'PINS_TOO_LARGE',
  'RANGE_CHANGED',
  'START_FAILED',
] as const satisfies readonly CompactionErrorCode[]

const carriedFact = z
  .strictObject({ key, text, digest: z.string().optional() })
  .refine((fact) => fact.digest === undefined || fact.digest === digestOf(fact.text))

/** The shape of each payload at append. */
export const schemas = {
  'compact/start': z.strictObject({
    id,
    trigger: z.enum(['manual', 'automatic']),
    range: z.strictObject({ from: seq, through: seq }).refine(({ from, through }) => from <= through),
    tokens: seq.optional(),
    sizeBytes: seq.optional(),
  }),
  'compact/summary': z.strictObject({
    id,
    text: z.string().refine((value) => value.trim() !== ''),
    author: z.enum(summaryAuthors).optional(),
    facts: z.array(carriedFact),
    endsFacts: z.literal(true).optional(),
  }),
  'compact/end': z.strictObject({
    id,
    outcome: z.enum(['applied', 'failed', 'cancelled']),
    error: z.strictObject({ code: z.enum(codes) }).optional(),
    facts: z
      .strictObject({
        presentCount: seq,
        missingCount: seq,
        missingKeys: z.array(key).max(32),
        presentDigest: z.string().min(1).max(nameLengthMax).optional(),
      })
      .optional(),
    tokens: seq.optional(),
    isOverContext: z.literal(true).optional(),
  }),
  'fact/pinned': z
    .strictObject({ key, text, digest: z.string(), sourceSeq: seq.optional(), by })
    .refine((fact) => fact.digest === digestOf(fact.text)),
  'tool/pruned': z.strictObject({
    resultSeq: seq,
    parts: coreSchemas['tool/result'].shape.parts,
    digest: z.string().min(1).max(nameLengthMax),
    sizeBytes: seq,
  }),
  'fact/unpinned': z.strictObject({ key, by, text: text.optional() }),
}
