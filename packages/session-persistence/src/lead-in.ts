import { boundaryType, recoveredType } from '@tidemark/session-core'
import type { EncodedEvent } from './encoded-event.ts'

/**
 * Whether all that waits is what a session starts with: what recoveries found, then a boundary. It says something of
 * what follows it only, so a session that is opened and never written to leaves no mark.
 */
export function waitsAlone(pending: readonly EncodedEvent[]): boolean {
  const other = pending.findIndex(({ event }) => event.type !== recoveredType)
  return other === -1 || (other === pending.length - 1 && pending[other]?.event.type === boundaryType)
}
