import type { AnySessionEvent } from '@tidemark/session-core'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isDeepFrozen } from './frozen.ts'
import { define, startHost } from './host.ts'
import { acts, Family, type Birth } from './history.ts'
import { guestDefinitions } from './guest.ts'

async function startFamily(): Promise<() => Family> {
  const ctx = await startHost()
  await define(ctx, guestDefinitions)
  return () => new Family(ctx.sessions)
}

const boundaries = (events: readonly AnySessionEvent[]): number =>
  events.filter(({ type }) => type === 'session/resumed').length

describe('any sequence of appends, forks, resumes and replays', () => {
  it('G1: leaves every log contiguous from 0 and deeply frozen', async () => {
    const family = await startFamily()
    fc.assert(
      fc.property(acts, (all) => {
        for (const { session } of family().run(all).births) {
          const events = [...session.log]
          expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index))
          expect(events.every(isDeepFrozen)).toBe(true)
          expect(session.log.length).toBe(events.length)
          expect(events.every((event) => session.log.at(event.seq) === event)).toBe(true)
        }
      }),
    )
  })

  it('G6: adds one boundary for each construction from a seed, and none after a seed that ends in one', async () => {
    const family = await startFamily()
    fc.assert(
      fc.property(acts, (all) => {
        for (const birth of family().run(all).births) expectMarked(birth)
      }),
    )
  })

  it('G6: never puts two boundaries in a row', async () => {
    const family = await startFamily()
    fc.assert(
      fc.property(acts, (all) => {
        for (const { session } of family().run(all).births) {
          const kinds = [...session.log].map(({ type }) => type)
          const twice = kinds.some((type, seq) => type === 'session/resumed' && kinds[seq + 1] === type)
          expect(twice).toBe(false)
        }
      }),
    )
  })

  it('keeps what was inherited and what was there before, event by event', async () => {
    const family = await startFamily()
    fc.assert(
      fc.property(acts, (all) => {
        for (const { session, seed, start } of family().run(all).births) {
          expect(start.slice(0, seed.length)).toEqual(seed)
          expect([...session.log].slice(0, start.length)).toEqual(start)
        }
      }),
    )
  })

  it('shares the very events of the parent with a fork', async () => {
    const family = await startFamily()
    fc.assert(
      fc.property(acts, (all) => {
        const forks = family()
          .run(all)
          .births.filter(({ how }) => how === 'fork')
        for (const { seed, start } of forks)
          expect(seed.every((event, seq) => event === start[seq])).toBe(true)
      }),
    )
  })

  it('G3: changes nothing when an append is refused', async () => {
    const family = await startFamily()
    fc.assert(
      fc.property(acts, (all) => {
        const { refusals } = family().run(all)
        expect(refusals.every(({ unchanged }) => unchanged)).toBe(true)
        const codes = new Set(refusals.map(({ code }) => code))
        expect(
          [...codes].filter((code) => !['NOT_OPEN', 'ALREADY_OPEN', 'INVALID_EVENT'].includes(code)),
        ).toEqual([])
      }),
    )
  })

  it('reads back from JSON text as the same events', async () => {
    const family = await startFamily()
    fc.assert(
      fc.property(acts, (all) => {
        for (const { session } of family().run(all).births) {
          const text = JSON.stringify([...session.log])
          expect(JSON.parse(text)).toEqual([...session.log])
        }
      }),
    )
  })
})

function expectMarked({ how, seed, start }: Birth): void {
  if (how === 'fresh') return expect(start).toEqual([])
  const marked = seed.at(-1)?.type === 'session/resumed'
  expect(boundaries(start) - boundaries(seed)).toBe(marked ? 0 : 1)
  expect(start.length).toBe(seed.length + (marked ? 0 : 1))
  expect(start.at(-1)).toMatchObject({ seq: start.length - 1, type: 'session/resumed', data: {} })
}
