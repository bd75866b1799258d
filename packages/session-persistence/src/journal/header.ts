import type { SessionHeader, SessionRecovered } from '@tidemark/session-core'
import { z } from 'zod'
import { fitting } from '../fitting.ts'
import type { Writer } from '../storage.ts'
import { formatVersion } from './format-version.ts'
import { isPlainHeader } from './header-guard.ts'
import { openLine, sealLine, type SealedLine } from './sealed-line.ts'

/** What a later segment goes on from, and by that seals. */
export interface Predecessor {
  readonly segment: string
  /** The length up to which it counts. */
  readonly bytes: number
  readonly seq: number
  readonly digest: string
}

/** The first line of a segment. */
export interface SegmentHeader {
  readonly format: typeof formatVersion
  readonly session: SessionHeader
  readonly epoch: number
  readonly rotation: number
  readonly firstSeq: number
  /** Keys the sums of this segment's commits, so that lines quoted in an event prove nothing. */
  readonly salt: string
  readonly writer: Writer
  /** Where whoever asks learns whether the writer lives: a socket in the session's folder. */
  readonly socket?: string
  /** Absent in the first segment of a session. */
  readonly predecessor?: Predecessor
  /** In a rotation: the last seq of its first batch. */
  readonly firstTo?: number
  /** In the first segment of a fork's own: what it was forked from. What is before it is shared with that. */
  readonly forked?: Forked
  /** Of the first batch, when it was appended in an earlier epoch and nothing proved it durable. */
  readonly carried?: Carried
  /** What recoveries found that no event of the log tells yet, oldest first. */
  readonly recovered?: readonly SessionRecovered[]
}

/** The log that a fork inherited, up to the last whole batch of it. */
export interface Forked {
  readonly id: string
  readonly seq: number
  readonly digest: string
}

/** Where a batch that was written again comes from. */
export interface Carried {
  readonly to: number
  readonly epoch: number
  readonly writer: Writer
}

/** The last seq of the first batch that follows a header; without events, the one before its first. */
export function firstToOf({ firstTo, carried, firstSeq }: SegmentHeader): number {
  return firstTo ?? carried?.to ?? firstSeq - 1
}

export type ParsedHeader =
  | { readonly kind: 'header'; readonly header: SegmentHeader; readonly sum: string }
  | { readonly kind: 'newer'; readonly format: number }
  | { readonly kind: 'broken' }

export function sealHeader(header: SegmentHeader): SealedLine {
  return sealLine('segment', header)
}

/** Reads a header line. A sum that is right with fields that are not is a program that is not ours. */
export function parseHeader(line: string): ParsedHeader {
  const opened = openLine('segment', line)
  if (opened === undefined) return { kind: 'broken' }
  // As it stands in the line: a schema would drop what it does not know, such as the own key `__proto__`.
  if (isPlainHeader(opened.fields) || fitting(headerSchema, opened.fields))
    return { kind: 'header', header: opened.fields as SegmentHeader, sum: opened.sum }
  const format = fitting(anyFormat, opened.fields)?.format ?? 0
  return format > formatVersion ? { kind: 'newer', format } : { kind: 'broken' }
}

const count = z.int().min(0)
const seq = z.int().min(-1)
const digest = z.string().regex(/^[0-9a-f]{64}$/)

const anyFormat = z.object({ format: z.int() })

const writer = z.object({
  incarnation: z.string(),
  pid: z.int(),
  host: z.string(),
  bootId: z.string().nullable(),
  startedAt: z.number(),
  enabledBy: z.enum(['config', 'env']),
  carry: z.array(z.string()).optional(),
})

const recovered = z.object({
  reason: z.string(),
  segment: z.string(),
  offset: count,
  sizeBytes: count,
  digest,
  lastSeq: seq,
  durableSeq: seq,
  evidence: z.string(),
})

/** What a header holds. What it does not know may stand beside it. */
export const headerSchema = z.object({
  format: z.literal(formatVersion),
  session: z.object({
    id: z.string().min(1),
    createdAt: z.number(),
    parent: z.object({ id: z.string(), seq }).optional(),
    forkedAt: z.array(seq).optional(),
    salvaged: z.object({ id: z.string().min(1), lost: count, unproven: count }).optional(),
    meta: z.custom((value) => typeof value === 'object' && value !== null).optional(),
  }),
  epoch: z.int().min(1),
  rotation: count,
  firstSeq: count,
  salt: z.string().min(1),
  writer,
  socket: z.string().optional(),
  predecessor: z.object({ segment: z.string(), bytes: count, seq, digest }).optional(),
  firstTo: seq.optional(),
  forked: z.object({ id: z.string().min(1), seq, digest }).optional(),
  carried: z.object({ to: seq, epoch: z.int().min(1), writer }).optional(),
  recovered: z.array(recovered).optional(),
})
