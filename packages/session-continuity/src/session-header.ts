import type { JsonObject } from '@tidemark/session-core'
import { actingChain, type Principal } from './principal.ts'

/** The part of a session's header that says whose it is. */
export interface BoundHeader {
  readonly meta?: JsonObject
}

/** What a session's metadata holds so that enforcement knows whose it is. */
export function boundMeta(principal: Principal, scope: string): JsonObject {
  return { continuity: { principal: principal.id, scope } }
}

/** A session without a recorded principal and scope belongs to nobody. */
export function isHeaderOf(
  header: BoundHeader,
  { principal, scope }: { readonly principal: Principal; readonly scope: string },
): boolean {
  const bound = header.meta?.continuity
  if (typeof bound !== 'object' || bound === null) return false
  const { principal: owner, scope: recorded } = bound as Readonly<Record<string, unknown>>
  return recorded === scope && actingChain(principal).some(({ id }) => id === owner)
}
