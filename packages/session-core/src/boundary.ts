import type { SessionEvent, SessionHeader } from './event.ts'

/** The type that ends every operation open before it. Only the `Session` constructor writes it. */
export const boundaryType = 'session/resumed'

/** The type that says what a recovery set aside. Only the `Session` constructor writes it, before the boundary. */
export const recoveredType = 'session/recovered'

/** A seeded session gets a boundary, unless its seed already ends in one. */
export function needsBoundary(seeded: boolean, isAtBoundary: boolean): boolean {
  return seeded && !isAtBoundary
}

/** An opening is orphaned when a boundary follows it, and live when none does. `boundarySeq`: the last one, if any. */
export function isOrphaned(openSeq: number, boundarySeq: number | undefined): boolean {
  return boundarySeq !== undefined && openSeq < boundarySeq
}

/** Whether an event is the boundary that a fork began with: this session's, or one that it inherited. */
export function beginsFork({ type, seq }: SessionEvent, { forkedAt = [] }: SessionHeader): boolean {
  return type === boundaryType && forkedAt.includes(seq - 1)
}
