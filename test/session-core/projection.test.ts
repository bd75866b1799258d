import { defineProjection, transcript, type Projection, type Session } from '@tidemark/session-core'
import type { Context } from 'cordis'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { define, startHost } from './host.ts'
import { refusalOf } from './refusal.ts'
import { lines, speaker } from './speaker.ts'

let ctx: Context
let session: Session

beforeEach(async () => {
  ctx = await startHost()
  session = ctx.sessions.create()
})

function counting(name = 'count'): { projection: Projection<number>; applied: () => number } {
  const apply = vi.fn((state: number) => state + 1)
  return {
    projection: defineProjection({ name, version: 1, init: () => 0, apply }),
    applied: () => apply.mock.calls.length,
  }
}

describe('a projection', () => {
  it('covers the whole log, also when it comes late, and folds each event once', () => {
    const { projection, applied } = counting()
    for (let count = 0; count < 3; count++) speaker(session).step()
    expect(session.read(projection)).toBe(3)
    speaker(session).step()
    expect([session.read(projection), session.read(projection), applied()]).toEqual([4, 4, 4])
  })

  it('reads the same in a view of the same events', () => {
    const { projection } = counting()
    for (let count = 0; count < 3; count++) speaker(session).step()
    expect(ctx.sessions.view(session.header, [...session.log]).read(projection)).toBe(3)
  })

  it('starts in a fork from its parent’s state where it is defined, and never from a later one', () => {
    const { projection, applied } = counting()
    ctx.sessions.define({ owner: 'x', projections: [projection] })
    for (let count = 0; count < 3; count++) speaker(session).step()
    session.read(projection)
    expect(ctx.sessions.fork(session).read(projection)).toBe(4)
    expect(applied()).toBe(4)
    expect(ctx.sessions.fork(session, { through: 0 }).read(projection)).toBe(2)
    expect(session.read(projection)).toBe(3)
  })

  it('that throws fails alone, at the same event each time, and keeps nothing from being appended', () => {
    const apply = (state: number, { seq }: { seq: number }): number => (seq === 1 ? thrown() : state + 1)
    const projection = defineProjection({ name: 'bad', version: 1, init: () => 0, apply })
    for (let count = 0; count < 3; count++) speaker(session).step()
    for (let count = 0; count < 2; count++) {
      const { code, details } = refusalOf(() => session.read(projection))
      expect([code, details.seq, details.name]).toEqual(['PROJECTION_FAILED', 1, 'bad'])
      speaker(session).user('more')
    }
    expect(lines(session)).toEqual(['user: more', 'user: more'])
    expect(session.read(counting().projection)).toBe(5)
  })

  it('may have undefined as its state', () => {
    const apply = vi.fn(() => undefined)
    const projection = defineProjection({ name: 'none', version: 1, init: () => undefined, apply })
    speaker(session).step()
    expect([session.read(projection), session.read(projection)]).toEqual([undefined, undefined])
    expect(apply).toHaveBeenCalledTimes(1)
  })

  it('is told what the vocabulary says, and is folded anew when that changes for types in the log', async () => {
    const apply: Projection<number>['apply'] = (state, { type }, { event }) => state + (event(type) ? 1 : 0)
    const projection = defineProjection({ name: 'known', version: 1, init: () => 0, apply })
    session.append('x/a', {}, { ignorable: true })
    speaker(session).step()
    expect(session.read(projection)).toBe(1)
    await define(ctx, { owner: 'y', events: { 'y/a': { schema: z.any() } } })
    expect(session.read(projection)).toBe(1)
    const fiber = await define(ctx, { owner: 'x', events: { 'x/a': { schema: z.any(), ignorable: true } } })
    expect(session.read(projection)).toBe(2)
    await fiber.dispose()
    expect(session.read(projection)).toBe(2)
    speaker(session).step()
    expect(session.read(projection)).toBe(3)
  })

  it('that asks nothing of the vocabulary is not folded anew when that changes', async () => {
    const { projection, applied } = counting()
    session.append('x/a', {}, { ignorable: true })
    session.read(projection)
    await define(ctx, { owner: 'x', events: { 'x/a': { schema: z.any() } } })
    expect([session.read(projection), applied()]).toEqual([1, 1])
  })
})

describe('the transcript', () => {
  it('is a projection like any other', () => {
    speaker(session).user('a')
    expect(session.read(transcript)).toBe(session.read(transcript))
    expect([transcript.name, transcript.version]).toEqual(['transcript', expect.any(Number)])
  })
})

function thrown(): never {
  throw new Error('projection')
}
