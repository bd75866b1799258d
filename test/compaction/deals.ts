import { defineBracket, isEvent, type Definitions, type SessionEvent } from '@tidemark/session-core'
import { z } from 'zod'

declare module '@tidemark/session-core' {
  interface SessionEventMap {
    'task/start': Readonly<Record<string, never>>
    'task/end': Readonly<Record<string, never>>
    'deal/start': { readonly id: string }
    'deal/end': { readonly id: string }
  }
}

const empty = { schema: z.strictObject({}) }
const keyed = { schema: z.strictObject({ id: z.string() }) }
/** Says nothing of being cut. */
export const task = defineBracket({ name: 'task', open: 'task/start', close: 'task/end', scope: 'session' })
export const deal = defineBracket({
  name: 'deal',
  open: 'deal/start',
  close: 'deal/end',
  key: ({ data }) => data.id,
  scope: 'session',
  indivisible: true,
})
export const deals: Definitions = {
  owner: 'deals',
  events: { 'task/start': empty, 'task/end': empty, 'deal/start': keyed, 'deal/end': keyed },
  brackets: [task, deal],
}

/** The applied compactions of a log that cut an indivisible bracket, as a naive scan of all of it finds them. */
export function cutBy(log: Iterable<SessionEvent>): string[] {
  const closed: { seq: number; through: number }[] = []
  const found: string[] = []
  let live = new Map<string, number>()
  let begun = new Map<string, { from: number; through: number; heldFrom: number }>()
  for (const event of log) {
    if (event.type === 'session/resumed') [live, begun] = [new Map(), new Map()]
    if (isEvent(event, 'deal/start')) live.set(event.data.id, event.seq)
    if (isEvent(event, 'deal/end')) {
      closed.push({ seq: live.get(event.data.id)!, through: event.seq })
      live.delete(event.data.id)
    }
    if (isEvent(event, 'bracket/abandoned') && event.data.bracket === 'deal') {
      for (const [id, seq] of live) if (seq === event.data.openSeq) live.delete(id)
    }
    if (isEvent(event, 'compact/start')) {
      begun.set(event.data.id, { ...event.data.range, heldFrom: Math.min(...live.values()) })
    }
    if (!isEvent(event, 'compact/end') || event.data.outcome !== 'applied') continue
    const { from, through, heldFrom } = begun.get(event.data.id)!
    const isCut = closed.some(({ seq, through: end }) => {
      const isOutside = through < seq || end < from
      return !isOutside && (seq < from || through < end)
    })
    if (isCut || through >= heldFrom) found.push(event.data.id)
  }
  return found
}
