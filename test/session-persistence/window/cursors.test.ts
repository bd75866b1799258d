import { readFileSync, statSync, writeFileSync } from 'node:fs'
import type { Session } from '@tidemark/session-core'
import { MemoryStorage } from '@tidemark/session-persistence/memory'
import type { FollowRequest } from '@tidemark/session-persistence'
import type { Context } from 'cordis'
import { beforeEach, describe, expect, it } from 'vitest'
import { segmentsOf } from '../files.ts'
import { hostOn } from '../foreign-host.ts'
import { say, start, startJournal, stop } from '../host.ts'
import { codeOf } from '../refusal.ts'
import { scratch } from '../scratch.ts'

const other = 'f'.repeat(64)

/** A storage that tells what is new, and one that is read again and again. */
describe.each([
  ['a journal', () => startJournal(scratch())],
  ['memory', () => hostOn(new MemoryStorage())],
])('a follower of a session in %s', (_, begin) => {
  let ctx: Context
  let session: Session
  beforeEach(async () => {
    ctx = await begin()
    session = await ctx.sessionPersistence.create({ id: 'a' })
  })
  const first = async (after: unknown): Promise<number[]> => {
    const request = { after, pollMs: 10 } as FollowRequest
    for await (const { events } of ctx.sessionPersistence.follow('a', request))
      if (events.length > 0) return events.map(({ seq }) => seq)
    return []
  }

  it('goes on after the receipt of a flush, as after a cursor', async () => {
    say(session, 'one')
    const receipt = await ctx.sessions.flush(session)
    say(session, 'two')
    await session.flush()
    expect(await first(receipt)).toEqual([1])
    const { durableSeq: seq, digest } = receipt
    expect(await first({ seq, digest })).toEqual([1])
    expect(await first({ seq })).toEqual([1])
    expect(await codeOf(() => first({ ...receipt, kind: 'memory' }))).toBe('INVALID_SEQ')
    const kept = { seq, digest: digest! }
    expect((await ctx.sessionPersistence.inspect('a', { receipt: kept })).log.length).toBe(2)
  })

  it.each([{ seq: 1.5 }, { seq: '20' }, { seq: -2 }, { durableSeq: NaN }, {}, { seq: 0, digest: 7 }])(
    'refuses %j as INVALID_SEQ, as every malformed request',
    async (after) => {
      say(session, 'one')
      await session.flush()
      expect(await codeOf(() => first(after))).toBe('INVALID_SEQ')
      for (const ask of [session, ctx.sessionPersistence.history.bind(ctx.sessionPersistence, 'a')]) {
        const request = { order: 'x' } as never
        const read = typeof ask === 'function' ? ask : ask.history.bind(ask)
        expect(await codeOf(() => read(request))).toBe('INVALID_SEQ')
      }
    },
  )

  it('G38: a cursor before the first event of another history is refused', async () => {
    const receipt = await ctx.sessions.flush(session)
    expect(receipt.durableSeq).toBe(-1)
    say(session, 'one')
    await session.flush()
    expect(await first(receipt)).toEqual([0])
    expect(await codeOf(() => first({ seq: -1, digest: other }))).toBe('CORRUPT')
  })

  it('ends at once when it is aborted, and when persistence is closed, however seldom it looks', async () => {
    for (const end of [undefined, () => ctx.fiber.dispose()]) {
      const aborting = new AbortController()
      const stream = ctx.sessionPersistence.follow('a', { signal: aborting.signal, pollMs: 10_000 })
      if (session.log.length === 0) {
        say(session, 'one')
        await session.flush()
      }
      expect((await stream.next()).done).toBe(false)
      const next = stream.next()
      await new Promise((resolve) => setTimeout(resolve, 50))
      if (end) void end()
      else aborting.abort()
      expect((await next).done).toBe(true)
    }
  })
})

describe('a follower of a log that is not what it was', () => {
  it('notices that a session was removed and made anew, although its files have the same names and sizes', async () => {
    const [root, twin] = [scratch(), scratch()]
    for (const [at, text] of [
      [root, 'old'],
      [twin, 'new'],
    ] as const) {
      const host = await start({ enabled: true, root: at, flushDelayMs: 1_000 })
      say(await host.ctx.sessionPersistence.create({ id: 'a' }), text)
      await stop(host)
    }
    const segment = segmentsOf(root, 'a')[0]!.path
    const theirs = readFileSync(segmentsOf(twin, 'a')[0]!.path)
    const ctx = await startJournal(root)
    const stream = ctx.sessionPersistence.follow('a', { pollMs: 10 })
    expect((await stream.next()).done).toBe(false)
    const next = codeOf(() => stream.next())
    const before = statSync(segment)
    writeFileSync(segment, theirs)
    expect([statSync(segment).ino, statSync(segment).size]).toEqual([before.ino, before.size])
    expect(await next).toBe('CORRUPT')
  })
})
