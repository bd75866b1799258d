import { describe, expect, it } from 'vitest'
import { startHost } from './host.ts'
import { speaker } from './speaker.ts'

describe('the time of an event', () => {
  it('G1: is what the clock tells, backwards and far ahead included, and orders nothing', async () => {
    const times = [1_000, 5_000, 5_000, 1_000, 400_000_000_000, -7, 0.5]
    let tick = 0
    const ctx = await startHost({ now: () => times[tick] ?? 0 })
    const session = ctx.sessions.create()
    for (tick = 0; tick < times.length; tick++) speaker(session).user(String(tick))
    expect([...session.log].map(({ time }) => time)).toEqual(times)
    const texts = session.messages().flatMap(({ parts }) => parts.map((part) => 'text' in part && part.text))
    expect(texts).toEqual(times.map((_, index) => String(index)))
    const replay = ctx.sessions.create({ seed: JSON.parse(JSON.stringify([...session.log])) as [] })
    expect([...replay.log].slice(0, -1)).toEqual([...session.log])
  })

  it('is the system’s where no clock is given', async () => {
    const before = Date.now()
    const session = (await startHost()).sessions.create()
    const { time } = session.append('turn/start', {})
    expect(time >= before && time <= Date.now()).toBe(true)
    expect(session.header.createdAt <= time).toBe(true)
  })

  it('is the caller’s where one is given', async () => {
    const session = (await startHost({ now: () => 5 })).sessions.create()
    expect(session.append('turn/start', {}, { time: 3.5 }).time).toBe(3.5)
    expect(session.append('turn/start', {}).time).toBe(5)
  })

  it.each([NaN, Infinity, -0, undefined, null, 'noon'])(
    'reads as 0 from a clock that tells %s, which refuses nothing',
    async (told) => {
      const ctx = await startHost({ now: () => told as number })
      const session = ctx.sessions.create({ seed: [] })
      const event = session.append('turn/start', {})
      const times = [session.header.createdAt, session.log.at(0).time, event.time]
      expect(times.every((time) => Object.is(time, 0))).toBe(true)
      expect(JSON.parse(JSON.stringify(event))).toEqual(event)
    },
  )
})
