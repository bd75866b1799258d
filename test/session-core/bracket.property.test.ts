import {
  step,
  toolCall,
  turn,
  type AnySessionEvent,
  type Bracket,
  type SessionView,
} from '@tidemark/session-core'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { define, startHost } from './host.ts'
import { acts, Family, rawLogs } from './history.ts'
import { guestDefinitions, job, rules, sum, watch } from './guest.ts'
import { scan } from './scan.ts'

const brackets: Readonly<Record<keyof typeof rules, Bracket>> = {
  turn,
  step,
  tool: toolCall,
  job,
  watch,
  sum,
}

function openOf(view: SessionView): Record<string, { live: number[]; orphaned: number[] }> {
  const entries = Object.entries(brackets).map(([name, bracket]) => {
    const open = view.open(bracket)
    const having = (status: string): number[] =>
      open.filter((one) => one.status === status).map(({ seq }) => seq)
    return [name, { live: having('live'), orphaned: having('orphaned') }]
  })
  return Object.fromEntries(entries) as Record<string, { live: number[]; orphaned: number[] }>
}

function scanned(events: readonly AnySessionEvent[]): Record<string, { live: number[]; orphaned: number[] }> {
  return Object.fromEntries(Object.entries(rules).map(([name, rule]) => [name, scan(events, rule)]))
}

describe('what is open of a bracket', () => {
  it('G7: is what a scan of the whole log finds, in every session of a family', async () => {
    const ctx = await startHost()
    await define(ctx, guestDefinitions)
    fc.assert(
      fc.property(acts, (all) => {
        for (const { session } of new Family(ctx.sessions).run(all).births) {
          expect(openOf(session)).toEqual(scanned([...session.log]))
        }
      }),
    )
  })

  it('G7: is what a scan finds after every single event', async () => {
    const ctx = await startHost()
    await define(ctx, guestDefinitions)
    fc.assert(
      fc.property(acts, (all) => {
        const family = new Family(ctx.sessions)
        for (const one of all) {
          family.run([{ ...one, on: 0 }])
          const { session } = family.births[0]!
          expect(openOf(session)).toEqual(scanned([...session.log]))
        }
      }),
      { numRuns: 50 },
    )
  })

  it('G7: is what a scan finds in a log that nothing has checked', async () => {
    const ctx = await startHost()
    await define(ctx, guestDefinitions)
    fc.assert(
      fc.property(rawLogs, (events) => {
        const view = ctx.sessions.view({ id: 'foreign', createdAt: 0 }, events)
        expect(openOf(view)).toEqual(scanned(events))
      }),
    )
  })
})
