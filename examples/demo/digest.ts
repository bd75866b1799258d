import { createHash } from 'node:crypto'
import type { SessionEvent } from '@tidemark/session-core'

/** SHA-256 of a JSON value whose keys are put in order, so that equal values have equal digests. */
export function digestOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value, ordered)).digest('hex')
}

export function digestsOf(events: Iterable<SessionEvent>): string[] {
  return Array.from(events, digestOf)
}

function ordered(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
}
