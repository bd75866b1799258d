import { createHash } from 'node:crypto'
import { z } from 'zod'
import { fitting } from '../fitting.ts'
import { encodePieces, parseMessagePack } from '../msgpack.ts'
import type { Snapshot } from '../storage.ts'

/** A snapshot, and where the log ended when it was taken: a hint, found again by seq and digest. */
export interface StoredSnapshot extends Snapshot {
  readonly epoch: number
  readonly place?: Place | undefined
  /** Whose it is. Absent in format 1: such a one may serve, and proves nothing of a log that does not hold its seq. */
  readonly of?: LogName | undefined
}

export interface Place {
  readonly segment: string
  readonly offset: number
}

/**
 * Which log a file beside it is of. Forks of one log begin alike, and a session that was removed and made again has the
 * same id: only both name one.
 */
export interface LogName {
  readonly session: string
  /** The digest of the empty log. */
  readonly log: string
}

/** `newer`: a later program's, and not for this one to judge. */
export type OpenedSnapshot =
  | { readonly kind: 'whole'; readonly snapshot: StoredSnapshot }
  | { readonly kind: 'newer' }
  | { readonly kind: 'unfit'; readonly reason: string }

const envelopeFormat = 2

/** One that is written now. */
export type OwnSnapshot = StoredSnapshot & { readonly of: LogName }

export function sealSnapshot({ epoch, at: { seq, digest }, place, of, content }: OwnSnapshot): Buffer {
  const envelope = { format: envelopeFormat as typeof envelopeFormat, epoch, seq, digest, ...place, ...of }
  const sum = sumOf(envelope, content)
  return Buffer.concat([...encodePieces({ ...envelope, sum, content })])
}

export function openSnapshot(bytes: Buffer): OpenedSnapshot {
  const fields = parseMessagePack(bytes)
  if ((fitting(anyFormat, fields)?.format ?? 0) > envelopeFormat) return { kind: 'newer' }
  const parsed = fitting(schema, fields)
  if (parsed === undefined) return { kind: 'unfit', reason: 'is no snapshot' }
  const { sum, content, ...envelope } = parsed
  if (sumOf(envelope, content) !== sum) return { kind: 'unfit', reason: 'does not prove itself' }
  const { epoch, seq, digest, segment, offset } = envelope
  const place = segment !== undefined && offset !== undefined ? { segment, offset } : undefined
  const of = envelope.format === 1 ? undefined : { session: envelope.session, log: envelope.log }
  return { kind: 'whole', snapshot: { epoch, at: { seq, digest }, place, of, content } }
}

function sumOf(envelope: Envelope, content: Uint8Array): string {
  const { format, epoch, seq, digest, segment, offset } = envelope
  const of = envelope.format === 1 ? [] : [envelope.session, envelope.log]
  const fields = JSON.stringify([format, epoch, seq, digest, segment ?? null, offset ?? null, ...of])
  return createHash('sha256').update(fields).update(content).digest('hex')
}

const anyFormat = z.object({ format: z.int() })

const digest = z.string().regex(/^[0-9a-f]{64}$/)

const place = {
  epoch: z.int().min(1),
  seq: z.int().min(-1),
  digest,
  segment: z.string().optional(),
  offset: z.int().min(0).optional(),
}

const unbound = z.object({ format: z.literal(1), ...place })
const bound = z.object({ format: z.literal(envelopeFormat), ...place, session: z.string(), log: digest })
type Envelope = z.output<typeof unbound> | z.output<typeof bound>

const body = { sum: z.string(), content: z.instanceof(Uint8Array) }
const schema = z.discriminatedUnion('format', [unbound.extend(body), bound.extend(body)])
