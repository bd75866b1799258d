import {
  messagesOf,
  toolCall,
  transcript,
  type AnySessionEvent,
  type ProjectionContext,
  type Session,
  type SessionEvent,
  type SessionHeader,
  type SessionView,
  type Sessions,
  type TranscriptState,
} from '@tidemark/session-core'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { define, startHost } from './host.ts'
import { acts, Family, rawLogs } from './history.ts'
import { guestDefinitions } from './guest.ts'
import { complaints } from './pairing.ts'

const text = (view: SessionView): string => JSON.stringify(view.messages())
const copy = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T

async function startSessions(): Promise<Sessions> {
  const ctx = await startHost()
  await define(ctx, guestDefinitions)
  return ctx.sessions
}

function cold(sessions: Sessions, session: Session): SessionView {
  return sessions.view(copy(session.header), copy([...session.log]))
}

/** Whether a boundary after the last event would end something that the model sees. */
function isQuiet(session: Session): boolean {
  const ending = ['session/resumed', 'turn/start', 'turn/end', 'step/start', 'step/end', 'assistant/message']
  const streaming = [...session.log].reduce((open, { type, data }: AnySessionEvent) => {
    if (ending.includes(type)) return false
    return open || (type === 'assistant/chunk' && (data as { kind: string }).kind !== 'call')
  }, false)
  return !streaming && session.open(toolCall).every(({ status }) => status === 'orphaned')
}

function contextOf(sessions: Sessions, { header }: SessionView): ProjectionContext {
  const { vocabulary } = sessions
  return {
    beginsFork: ({ type, seq }) =>
      type === 'session/resumed' && (header.forkedAt?.includes(seq - 1) ?? false),
    event: (type) => vocabulary.event(type),
    bracket: (name) => vocabulary.bracket(name),
    brackets: (type) => vocabulary.bracketsOf(type),
  }
}

describe('the transcript of any history', () => {
  it('G9: is the same live and read cold', async () => {
    const sessions = await startSessions()
    fc.assert(
      fc.property(acts, (all) => {
        for (const { session } of new Family(sessions).run(all).births) {
          expect(text(session)).toBe(text(cold(sessions, session)))
        }
      }),
    )
  })

  it('is the same whether it was read after every event or only at the end', async () => {
    const sessions = await startSessions()
    fc.assert(
      fc.property(acts, (all) => {
        const family = new Family(sessions)
        for (const one of all) {
          family.run([one])
          for (const { session } of family.births) session.messages()
        }
        for (const { session } of family.births) expect(text(session)).toBe(text(cold(sessions, session)))
      }),
    )
  })

  it('G9: is the same in a fork at any point as in the same events read cold', async () => {
    const sessions = await startSessions()
    fc.assert(
      fc.property(acts, fc.nat(), (all, at) => {
        for (const { session } of new Family(sessions).run(all).births) {
          if (session.log.length === 0) continue
          const through = at % session.log.length
          const child = sessions.fork(session, { through })
          expect(text(child)).toBe(text(cold(sessions, child)))
        }
      }),
    )
  })

  it('is the same in a fork as in its parent where nothing is open', async () => {
    const sessions = await startSessions()
    let compared = 0
    fc.assert(
      fc.property(acts, (all) => {
        for (const { session } of new Family(sessions).run(all).births) {
          if (session.log.length === 0 || !isQuiet(session)) continue
          compared += 1
          expect(text(sessions.fork(session))).toBe(text(session))
        }
      }),
    )
    expect(compared).toBeGreaterThan(50)
  })

  it('G9: pairs every call with its result and holds nothing empty or malformed', async () => {
    const sessions = await startSessions()
    fc.assert(
      fc.property(acts, (all) => {
        for (const { session } of new Family(sessions).run(all).births) {
          expect(complaints(session.messages())).toEqual([])
        }
      }),
    )
  })

  it('pairs every call with its result whatever order a foreign log is in', async () => {
    const sessions = await startSessions()
    fc.assert(
      fc.property(rawLogs, (events) => {
        const view = sessions.view({ id: 'foreign', createdAt: 0 }, events)
        expect(complaints(view.messages())).toEqual([])
        expect(text(sessions.create({ seed: copy(events) }))).toBe(
          text(sessions.view({ id: 'foreign', createdAt: 0 }, resumed(events))),
        )
      }),
    )
  })

  it('does not change when a session that nothing was added to is resumed again', async () => {
    const sessions = await startSessions()
    fc.assert(
      fc.property(acts, (all) => {
        for (const { session } of new Family(sessions).run(all).births) {
          const once = sessions.create({ seed: [...session.log], header: renamed(session) })
          const twice = sessions.create({ seed: [...once.log], header: renamed(once) })
          expect(text(twice)).toBe(text(once))
          expect([...twice.log]).toEqual([...once.log])
        }
      }),
      { numRuns: 50 },
    )
  })

  it('goes on from a state that was stored as JSON text at any point', async () => {
    const sessions = await startSessions()
    fc.assert(
      fc.property(rawLogs, fc.nat(), (events, cut) => {
        const view = sessions.view({ id: 'foreign', createdAt: 0 }, events)
        const context = contextOf(sessions, view)
        const fold = (state: TranscriptState, part: readonly SessionEvent[]): TranscriptState =>
          part.reduce((before, event) => transcript.apply(before, event, context), state)
        const all = [...view.log]
        const at = cut % (all.length + 1)
        const stored = copy(fold(transcript.init(), all.slice(0, at)))
        expect(JSON.stringify(messagesOf(fold(stored, all.slice(at))))).toBe(text(view))
      }),
    )
  })
})

function resumed(events: readonly AnySessionEvent[]): AnySessionEvent[] {
  if (events.at(-1)?.type === 'session/resumed') return [...events]
  return [...events, { seq: events.length, time: 0, type: 'session/resumed', data: {} }]
}

function renamed({ header }: Session): SessionHeader {
  return { ...header, id: crypto.randomUUID() }
}
