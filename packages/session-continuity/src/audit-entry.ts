import { SessionError, assertLossless, type JsonObject } from '@tidemark/session-core'
import { z } from 'zod'
import { digestPattern, sha256 } from './digest.ts'
import { parseJson } from './json-text.ts'
import { refusal } from './refusal.ts'

/** One thing that was done, or that was about to be done. */
export interface AuditEntry {
  /** From 0, without a gap: the order of entries, whatever `time` says. */
  readonly index: number
  /** The digest of the entry before it; of the first: 64 zeros. */
  readonly previous: string
  /** The incarnation's. */
  readonly incarnation: string
  /** The wall clock as told, in milliseconds since the epoch; `null` where it told no number. */
  readonly time: number | null
  readonly action: string
  readonly detail: JsonObject
}

export interface SealedEntry {
  readonly entry: AuditEntry
  readonly digest: string
}

/** Where a chain ends. */
export interface ChainHead {
  readonly index: number
  readonly digest: string
}

export const firstPrevious = '0'.repeat(64)

/** The action of a clean end. */
export const closeAction = 'continuity/close'

/** UTF-16 code units of an action. */
export const actionLengthMax = 100

/** Bytes of one line. */
export const entrySizeBytesMax = 65_536

const entrySchema = z.strictObject({
  index: z.int().min(0),
  previous: z.string().regex(digestPattern),
  incarnation: z.string().min(1).max(100),
  time: z.number().nullable(),
  action: z.string().min(1).max(actionLengthMax),
  detail: z.record(z.string(), z.unknown()),
})

/**
 * An entry after a head, with its digest: SHA-256 of its one spelling, which holds the digest before it.
 * @throws SessionError `INVALID_PAYLOAD` for what `findEntry` would not take back; `BACK_PRESSURE` (`too-many`).
 */
export function sealEntry(
  head: ChainHead | undefined,
  { incarnation, time, action, detail }: Pick<AuditEntry, 'incarnation' | 'time' | 'action' | 'detail'>,
): SealedEntry {
  assertLossless(detail, { type: `audit ${action}` })
  const entry: AuditEntry = {
    index: head ? head.index + 1 : 0,
    previous: head?.digest ?? firstPrevious,
    incarnation,
    time: time !== null && Number.isFinite(time) ? time : null,
    action,
    detail,
  }
  const sealed = { entry, digest: digestOf(entry) }
  const line = lineOf(sealed)
  refuseSize(line)
  // By the reader itself: what it does not take would be damage, for good and for everybody.
  if (findEntry(line.slice(0, -1))) return sealed
  const message = `an audit entry has an action of 1 to ${actionLengthMax} characters and an object as its detail`
  throw new SessionError('INVALID_PAYLOAD', `${message}; nothing was written`)
}

/** The line of an entry, with its line feed. */
export function lineOf({ entry, digest }: SealedEntry): string {
  return `{"entry":${spell(entry)},"digest":"${digest}"}\n`
}

/** The entry in a line without its line feed; `undefined` unless it is spelled as this program spells it. */
export function findEntry(line: string): SealedEntry | undefined {
  const value = parseJson(line) as { entry?: unknown; digest?: unknown } | undefined | null
  const parsed = entrySchema.safeParse(value?.entry)
  if (!parsed.success || typeof value?.digest !== 'string') return undefined
  // The detail as it was parsed: a schema might drop what JavaScript treats in a way of its own.
  const { detail } = value.entry as AuditEntry
  const sealed: SealedEntry = { entry: { ...parsed.data, detail }, digest: value.digest }
  return lineOf(sealed) === `${line}\n` ? sealed : undefined
}

/** Whether an entry's content is what its digest is of. */
export function isIntact({ entry, digest }: SealedEntry): boolean {
  return digestOf(entry) === digest
}

function refuseSize(line: string): void {
  const sizeBytes = Buffer.byteLength(line)
  if (sizeBytes > entrySizeBytesMax)
    throw refusal('too-many', `an audit entry of ${sizeBytes} bytes; at most ${entrySizeBytesMax}`)
}

function digestOf(entry: AuditEntry): string {
  return sha256(spell(entry))
}

function spell({ index, previous, incarnation, time, action, detail }: AuditEntry): string {
  return JSON.stringify({ index, previous, incarnation, time, action, detail })
}
