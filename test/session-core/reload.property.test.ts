import { isSessionError, type JsonValue, type Session, type SessionView } from '@tidemark/session-core'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { guestDefinitions, job, rules, sum, watch } from './guest.ts'
import { startHost } from './host.ts'
import { acts, dataOf, type Act } from './history.ts'
import { complaints } from './pairing.ts'
import { scan } from './scan.ts'

/** What happens to a session, and between which of it the plugin is loaded or unloaded. */
const lives = fc.array(fc.tuple(acts, fc.boolean()), { minLength: 1, maxLength: 5 })

/** Appends what fits: as ignorable where nobody defines it. */
function append(session: Session, one: Act, isKnown: boolean): void {
  const unchecked = session.append.bind(session) as (
    type: string,
    data: JsonValue,
    options: object,
  ) => unknown
  const isOwn = Object.hasOwn(guestDefinitions.events ?? {}, one.type)
  const isLoose = one.type === 'loose/event' || (isOwn && !isKnown)
  try {
    unchecked(one.type, dataOf(one, [...session.log]), isLoose ? { ignorable: true } : {})
  } catch (error) {
    if (!isSessionError(error)) throw error
  }
}

const text = (view: SessionView): string => JSON.stringify(view.messages())

describe('a session that plugins come to and go from', () => {
  it('reads as it does cold whenever all of them are there', async () => {
    const { sessions } = await startHost()
    await fc.assert(
      fc.asyncProperty(lives, async (parts) => {
        const session = sessions.create()
        for (const [all, isLoaded] of parts) {
          const undo = isLoaded ? sessions.define(guestDefinitions) : undefined
          for (const one of all) append(session, one, isLoaded)
          text(session)
          undo?.()
          text(session)
        }
        const undo = sessions.define(guestDefinitions)
        const cold = sessions.view(session.header, JSON.parse(JSON.stringify([...session.log])) as [])
        expect(text(session)).toBe(text(cold))
        expect(complaints(session.messages())).toEqual([])
        const child = sessions.fork(session)
        expect(text(child)).toBe(text(sessions.view(child.header, [...child.log])))
        undo()
        await sessions.disposeAll()
      }),
    )
  })

  it('has nothing of theirs live after they have gone, and is open as a scan finds', async () => {
    const { sessions } = await startHost()
    await fc.assert(
      fc.asyncProperty(lives, async (parts) => {
        const session = sessions.create()
        for (const [all, isLoaded] of parts) {
          const undo = isLoaded ? sessions.define(guestDefinitions) : undefined
          for (const one of all) append(session, one, isLoaded)
          undo?.()
          for (const bracket of [job, watch, sum]) {
            const live = session.open(bracket).filter(({ status }) => status === 'live')
            const rule = rules[bracket.name as 'job']
            expect(live.map(({ seq }) => seq)).toEqual(scan([...session.log], rule).live)
            if (isLoaded) expect(live).toEqual([])
          }
        }
        await sessions.disposeAll()
      }),
    )
  })
})
