import {
  isSessionError,
  type AnySessionEvent,
  type JsonValue,
  type Session,
  type Sessions,
} from '@tidemark/session-core'
import fc from 'fast-check'

/** One thing a plugin or host appends. `pick` chooses among what the log offers: a call, a seq. */
export interface Step {
  readonly type: string
  readonly text: string
  readonly id: string
  readonly pick: number
  readonly flag: boolean
}

export type Act = Step & { readonly on: number; readonly act: 'append' | 'fork' | 'resume' | 'replay' }

const types = [
  'turn/start',
  'turn/end',
  'step/start',
  'step/end',
  'user/message',
  'assistant/chunk',
  'assistant/message',
  'tool/call',
  'tool/call',
  'tool/result',
  'tool/result',
  'job/start',
  'job/end',
  'watch/start',
  'watch/end',
  'sum/start',
  'sum/note',
  'sum/end',
  'note/said',
  'cut/made',
  'loose/event',
]

const text = fc.constantFrom('a', 'b', '', 'x\ud83c', '\udf7by', '\u2028', '\0', 'é')

const step = {
  type: fc.constantFrom(...types),
  text,
  id: fc.constantFrom('', 'call_0', '1', '__proto__'),
  pick: fc.nat(40),
  flag: fc.boolean(),
}

const act = fc.constantFrom<Act['act'][]>(...Array<'append'>(12).fill('append'), 'fork', 'resume', 'replay')

/** What happens to a family of sessions. */
export const acts = fc.array(fc.record({ ...step, on: fc.nat(5), act }), { minLength: 1, maxLength: 60 })

/** A log as a foreign program may have left it: any order of events, fitting or not. */
export const rawLogs = fc
  .array(fc.record({ ...step, type: fc.constantFrom(...types, 'session/resumed') }), { maxLength: 50 })
  .map((steps): AnySessionEvent[] =>
    steps.reduce<AnySessionEvent[]>((events, one) => [...events, rawEvent(one, events)], []),
  )

function rawEvent(one: Step, events: readonly AnySessionEvent[]): AnySessionEvent {
  const data = one.type === 'session/resumed' ? {} : dataOf(one, events)
  const ignorable = one.type === 'loose/event' && { ignorable: true as const }
  const replaces = (one.type === 'sum/end' || one.type === 'cut/made') && { replaces: true as const }
  return { seq: events.length, time: 0, type: one.type, data, ...ignorable, ...replaces }
}

/** The payload for a step, fitting the log as well as its `pick` allows. */
export function dataOf({ type, text, id, pick, flag }: Step, events: readonly AnySessionEvent[]): JsonValue {
  switch (type) {
    case 'turn/end':
      return { reason: flag ? 'completed' : 'interrupted' }
    case 'user/message':
      return { parts: [{ type: 'text', author: flag ? 'human' : 'agent', text }] }
    case 'assistant/chunk':
      return { kind: (['text', 'reasoning', 'call'] as const)[pick % 3] ?? 'text', text }
    case 'assistant/message':
      return { parts: [{ type: flag ? 'text' : 'reasoning', text }] }
    case 'tool/call':
      return { callId: id, name: 'tool', arguments: { [id]: text } }
    case 'tool/result':
      return resultOf({ text, pick, flag }, events)
    case 'cut/made':
      return cutOf({ text, pick }, events)
    case 'sum/note':
    case 'note/said':
      return { text }
    case 'sum/end':
      return { from: Math.min(pick, 20), through: pick, applied: flag }
    case 'job/start':
    case 'job/end':
    case 'watch/start':
    case 'watch/end':
      return { id }
    case 'loose/event':
      return { [id]: text }
    default:
      return {}
  }
}

function resultOf(
  { text, pick, flag }: Pick<Step, 'text' | 'pick' | 'flag'>,
  events: readonly AnySessionEvent[],
): JsonValue {
  const calls = events.filter(({ type }) => type === 'tool/call')
  const call = calls.at(calls.length === 0 ? 0 : -1 - (pick % calls.length))
  const callId = (call?.data as { callId?: string } | undefined)?.callId ?? ''
  return { callId, callSeq: call?.seq ?? 0, outcome: flag ? 'ok' : 'error', parts: [{ type: 'text', text }] }
}

/** Mostly of a result; of anything else it changes nothing. */
function cutOf({ text, pick }: Pick<Step, 'text' | 'pick'>, events: readonly AnySessionEvent[]): JsonValue {
  const results = events.filter(({ type }) => type === 'tool/result')
  const resultSeq = results.at(results.length === 0 ? 0 : -1 - (pick % results.length))?.seq ?? pick
  return { resultSeq, parts: [{ type: 'text', text: `cut ${text}` }] }
}

/** What a session was made from. */
export interface Birth {
  readonly session: Session
  readonly how: Act['act'] | 'fresh'
  readonly seed: readonly AnySessionEvent[]
  /** Its log right after construction. */
  readonly start: readonly AnySessionEvent[]
}

/** A family of sessions that starts with one fresh session. */
export class Family {
  readonly births: Birth[] = []
  /** Appends that were refused, with their code, and whether the log stayed as it was. */
  readonly refusals: { readonly code: string; readonly unchanged: boolean }[] = []

  constructor(private readonly sessions: Sessions) {
    this.born('fresh', [], () => sessions.create())
  }

  run(all: readonly Act[]): this {
    for (const one of all) this.perform(one)
    return this
  }

  private perform(one: Act): void {
    const { session } = this.births[one.on % this.births.length] as Birth
    const events = [...session.log]
    switch (one.act) {
      case 'append':
        return this.append(session, one)
      case 'fork': {
        if (events.length === 0) return
        const through = one.pick % events.length
        return this.born('fork', events.slice(0, through + 1), () => this.sessions.fork(session, { through }))
      }
      case 'resume':
        return this.born('resume', events, () => this.sessions.create({ seed: [...session.log] }))
      case 'replay': {
        const seed = JSON.parse(JSON.stringify(events)) as AnySessionEvent[]
        return this.born('replay', events, () => this.sessions.create({ seed }))
      }
    }
  }

  private append(session: Session, one: Act): void {
    const before = [...session.log]
    const append = session.append.bind(session) as (type: string, data: JsonValue, options: object) => unknown
    try {
      append(one.type, dataOf(one, before), one.type === 'loose/event' ? { ignorable: true } : {})
    } catch (error) {
      if (!isSessionError(error)) throw error
      const after = [...session.log]
      const unchanged = after.length === before.length && after.every((event, seq) => event === before[seq])
      this.refusals.push({ code: error.code, unchanged })
    }
  }

  private born(how: Birth['how'], seed: readonly AnySessionEvent[], make: () => Session): void {
    if (this.births.length >= 12) return
    const session = make()
    this.births.push({ session, how, seed, start: [...session.log] })
  }
}
