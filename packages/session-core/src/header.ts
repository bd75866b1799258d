import { SessionError } from './errors.ts'
import type { SessionHeader } from './event.ts'
import { refuseId } from './id.ts'
import { assertLossless, type JsonObject } from './json.ts'

/** Forks of forks. */
export const forkDepthMax = 1_024

/** What a caller chooses of a header. */
export type HeaderOptions = Partial<Record<'id', string | undefined> & Record<'meta', JsonObject | undefined>>

/** @throws SessionError `INVALID_ID`, `INVALID_PAYLOAD` (meta). */
export function refuseHeader({ id, meta }: Pick<SessionHeader, 'id' | 'meta'>): void {
  refuseId(id)
  if (meta === undefined) return
  assertLossless(meta, { type: 'header.meta' })
  if (typeof meta === 'object' && meta !== null && !Array.isArray(meta)) return
  throw new SessionError('INVALID_PAYLOAD', 'header.meta is no object', { type: 'header.meta', path: 'data' })
}

export function newHeader({ id, meta }: HeaderOptions, createdAt: number): SessionHeader {
  const header = { id: id ?? globalThis.crypto.randomUUID(), createdAt, ...(meta !== undefined && { meta }) }
  refuseHeader(header)
  return header
}

/** The header of a fork that was cut from a session at `through`. @throws SessionError `INVALID_SEQ` (too deep). */
export function forkHeader(header: SessionHeader, parent: SessionHeader, through: number): SessionHeader {
  // A cut that lies at or above this one left no boundary in what is inherited.
  const inherited = (parent.forkedAt ?? []).filter((seq) => seq < through)
  const forkedAt = Object.freeze([...inherited, through])
  if (forkedAt.length > forkDepthMax)
    throw new SessionError('INVALID_SEQ', `${parent.id}: forked ${forkDepthMax} times already`)
  // What was lost, or stands unproven, is so in what is inherited, too.
  const salvaged = through >= 0 && parent.salvaged ? { salvaged: parent.salvaged } : {}
  return { ...header, parent: { id: parent.id, seq: through }, forkedAt, ...salvaged }
}
