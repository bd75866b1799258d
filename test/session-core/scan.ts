import type { AnySessionEvent } from '@tidemark/session-core'

/** What the design says of a bracket, in its own words. */
export interface Rule {
  readonly name: string
  readonly open: string
  readonly close: string
  readonly scope: 'turn' | 'session'
  /** Links a close to its opening. */
  readonly key: (event: AnySessionEvent) => unknown
  /** A close after the end takes the opening away from the orphaned ones. */
  readonly late?: true
}

type Events = readonly AnySessionEvent[]

const boundary = 'session/resumed'

/**
 * The seqs that are open and how, found for each opening by itself, by walking what follows it. Written from the
 * design alone and slow on purpose: it shares no code and no state with the product.
 */
export function scan(events: Events, rule: Rule): { live: number[]; orphaned: number[] } {
  const fates = events.flatMap((event) => (event.type === rule.open ? [fateOf(events, event, rule)] : []))
  const having = (fate: string): number[] => fates.filter((one) => one.fate === fate).map(({ seq }) => seq)
  return { live: having('live'), orphaned: having('orphaned') }
}

function fateOf(events: Events, opening: AnySessionEvent, rule: Rule): { seq: number; fate: string } {
  let fate = 'live'
  for (const event of events.slice(opening.seq + 1)) {
    const sameKey = rule.key(event) === rule.key(opening)
    const closes = event.type === rule.close && sameKey
    const reopens = event.type === rule.open && sameKey
    if (reopens) return { seq: opening.seq, fate: 'superseded' }
    if (closes && (fate === 'live' || rule.late)) return { seq: opening.seq, fate: 'closed' }
    if (fate !== 'live') continue
    if (event.type === boundary) fate = 'orphaned'
    else if (abandons(events, opening, { event, rule })) return { seq: opening.seq, fate: 'abandoned' }
  }
  return { seq: opening.seq, fate }
}

function abandons(
  events: Events,
  opening: AnySessionEvent,
  { event, rule }: { event: AnySessionEvent; rule: Rule },
): boolean {
  if (event.type === 'bracket/abandoned') {
    const { bracket, openSeq } = event.data as { bracket: string; openSeq: number }
    return bracket === rule.name && openSeq === opening.seq
  }
  if (rule.scope !== 'turn') return false
  const within = (start: number | undefined): boolean => start !== undefined && start <= opening.seq
  switch (event.type) {
    case 'turn/end':
      return within(turnBefore(events, event.seq))
    case 'turn/start':
      return within(turnBefore(events, event.seq)) || within(stepBefore(events, event.seq))
    case 'step/start':
    case 'step/end':
      return within(stepBefore(events, event.seq))
    default:
      return false
  }
}

/** Where the turn that is open right before `seq` started. */
function turnBefore(events: Events, seq: number): number | undefined {
  for (const event of events.slice(0, seq).reverse()) {
    if (event.type === 'turn/start') return event.seq
    if (event.type === 'turn/end' || event.type === boundary) return undefined
  }
  return undefined
}

/** Where the step that is open right before `seq` started: steps end with their turn, and when a turn starts. */
function stepBefore(events: Events, seq: number): number | undefined {
  for (const event of events.slice(0, seq).reverse()) {
    if (event.type === 'step/start') return event.seq
    if (event.type === 'step/end' || event.type === 'turn/start' || event.type === boundary) return undefined
    if (event.type === 'turn/end' && turnBefore(events, event.seq) !== undefined) return undefined
  }
  return undefined
}
