import { defineBracket, isEvent, type Bracket, type SessionEvent } from '@tidemark/session-core'

/**
 * A compaction. A live one is the lock; an orphaned one blocks nothing.
 *
 * Its scope is the session: a summary may be asked for in one turn and arrive in the next, and the end of the turn
 * it was started in says nothing about it.
 */
export const compaction: Bracket = defineBracket({
  name: 'compaction',
  open: 'compact/start',
  close: 'compact/end',
  inside: ['compact/summary'],
  key: idOf,
  scope: 'session',
  settle: (open) => ({
    type: 'compact/end',
    data: { id: idOf(open), outcome: 'cancelled', error: { code: 'UNLOADED' } },
  }),
})

function idOf(event: SessionEvent): string {
  const isOurs =
    isEvent(event, 'compact/start') || isEvent(event, 'compact/summary') || isEvent(event, 'compact/end')
  return isOurs ? event.data.id : ''
}
