import { defineProjection, isEvent, type Projection, type SessionEvent } from '@tidemark/session-core'
import type { FactPinned } from './event.ts'

/** A fact in force. `seq` is that of the event that made it one. */
export interface PinnedFact extends FactPinned {
  readonly seq: number
}

/** The facts in force, oldest pin first. A later pin of a key takes the place of an earlier one. */
export const facts: Projection<readonly PinnedFact[]> = defineProjection<readonly PinnedFact[]>({
  name: 'facts',
  version: 1,
  init: () => [],
  apply: fold,
})

function fold(known: readonly PinnedFact[], event: SessionEvent): readonly PinnedFact[] {
  if (isEvent(event, 'fact/pinned')) {
    const fact = Object.freeze({ ...event.data, seq: event.seq })
    return Object.freeze([...without(known, fact.key), fact])
  }
  return isEvent(event, 'fact/unpinned') ? Object.freeze(without(known, event.data.key)) : known
}

function without(known: readonly PinnedFact[], key: string): PinnedFact[] {
  return known.filter((fact) => fact.key !== key)
}
