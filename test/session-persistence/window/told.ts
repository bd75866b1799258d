import { defineBracket, defineProjection, type Session, type SessionView } from '@tidemark/session-core'
import { z } from 'zod'

declare module '@tidemark/session-core' {
  interface SessionEventMap {
    'work/start': { readonly name: string }
    'work/end': { readonly name: string }
  }
}

/** A plugin's bracket: by name, and it may outlive turns. */
export const work = defineBracket({
  name: 'work',
  open: 'work/start',
  close: 'work/end',
  key: ({ data }) => data.name,
  scope: 'session',
})

/** A plugin's projection: how often each type came. */
export const tally = defineProjection<Readonly<Record<string, number>>>({
  name: 'tally',
  version: 1,
  init: () => ({}),
  apply: (state, { type }) => ({ ...state, [type]: (state[type] ?? 0) + 1 }),
})

const named = z.strictObject({ name: z.string() })

export const plugin = {
  owner: 'work',
  events: { 'work/start': { schema: named }, 'work/end': { schema: named } },
  brackets: [work],
  projections: [tally],
}

/** Numbers from 0 up to 1, the same each time. */
export function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000
  }
}

const texts = ['plain', 'ünïcode 🙂', 'half \ud83d', '\u0000\u2028', '', '{"commit":{"from":0}}']

/** Appends turns as a host does, some of them cut short, until the log has so many events. */
export function talk(session: Session, length: number, random: () => number): void {
  const pick = (): string => texts[Math.floor(random() * texts.length)] ?? ''
  const working: string[] = []
  while (session.log.length < length) {
    session.append('turn/start', {})
    session.append('user/message', { parts: [{ type: 'text', text: pick(), author: 'human' }] })
    if (random() < 0.3)
      working.push(session.append('work/start', { name: `w${session.log.length}` }).data.name)
    for (let step = 0; step < 2; step++) {
      session.append('step/start', {})
      for (let chunk = 0; chunk < 20; chunk++)
        session.append('assistant/chunk', { kind: 'text', text: pick() })
      if (random() < 0.8) session.append('assistant/message', { parts: [{ type: 'text', text: pick() }] })
      const args = JSON.parse('{"__proto__":{"a":1},"b":[null,1.5]}') as Record<string, never>
      const call = session.append('tool/call', { callId: 'c', name: 'run', arguments: args })
      const parts = [{ type: 'text', text: pick() } as const]
      if (random() < 0.8)
        session.append('tool/result', { callId: 'c', callSeq: call.seq, outcome: 'ok', parts })
      if (random() < 0.9) session.append('step/end', {})
    }
    const done = random() < 0.5 ? working.shift() : undefined
    if (done !== undefined) session.append('work/end', { name: done })
    if (random() < 0.9) session.append('turn/end', { reason: 'completed' })
  }
}

/** Everything that a session derives, as plain data. */
export function derived(view: SessionView) {
  const open = [work].flatMap((bracket) => view.open(bracket))
  return {
    messages: view.messages(),
    open: open.map(({ bracket, key, seq, status }) => ({ bracket, key, seq, status })),
    tally: view.read(tally),
    boundary: view.boundarySeq,
    length: view.log.length,
    types: [...view.log.types].map(([type, { seq }]) => [type, seq]),
  }
}

/** All events of a view, page by page. */
export async function wholeHistory(
  view: SessionView,
  bounds: { countMax?: number; sizeBytesMax?: number } = {},
) {
  const events = []
  let page = await view.history(bounds)
  for (;;) {
    events.push(...page.events)
    if (page.next === undefined) return events
    page = await view.history(page.next)
  }
}
