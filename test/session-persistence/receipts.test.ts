import type { FlushReceipt, Session } from '@tidemark/session-core'
import type { KeptReceipt } from '@tidemark/session-persistence'
import type { Context } from 'cordis'
import { beforeEach, describe, expect, it } from 'vitest'
import { hostWith } from './foreign-host.ts'
import { say, start } from './host.ts'
import { codeOf } from './refusal.ts'

let ctx: Context
let first: FlushReceipt
let last: FlushReceipt

const writeTwice = async (session: Session): Promise<FlushReceipt[]> => {
  say(session, 'one')
  const early = await ctx.sessions.flush(session)
  say(session, 'two')
  return [early, await ctx.sessions.flush(session)]
}

beforeEach(async () => {
  ctx = await hostWith({})
  const session = await ctx.sessionPersistence.create({ id: 'a' })
  ;[first, last] = (await writeTwice(session)) as [FlushReceipt, FlushReceipt]
  await ctx.sessions.dispose(session)
})

/** Whoever reads or claims a stored session by its id. */
const asks = {
  resume: (receipt: KeptReceipt) => ctx.sessionPersistence.resume('a', { receipt }),
  inspect: (receipt: KeptReceipt) => ctx.sessionPersistence.inspect('a', { receipt }),
  fork: (receipt: KeptReceipt) => ctx.sessionPersistence.fork('a', { receipt, id: 'c' }),
}

describe('a receipt', () => {
  it('names the content that is durable: other content has another name', async () => {
    expect(first).toEqual({ kind: 'stored', durableSeq: 0, digest: expect.any(String) as string })
    expect(last.digest).not.toBe(first.digest)
    const resumed = await ctx.sessionPersistence.resume('a')
    expect(await ctx.sessions.flush(resumed)).toEqual(last)
  })

  it.each(Object.keys(asks) as (keyof typeof asks)[])('%s: of this log is held', async (what) => {
    for (const receipt of [
      first,
      last,
      { durableSeq: 1 },
      { durableSeq: -1 },
      JSON.parse(JSON.stringify(last)),
    ]) {
      await asks[what](receipt)
      await ctx.sessions.disposeAll()
      if (what === 'fork') await ctx.sessionStorage.remove('c')
    }
  })

  it.each(Object.keys(asks) as (keyof typeof asks)[])(
    'G22: %s: of more, or of something else, is CORRUPT, and nothing is opened',
    async (what) => {
      const other = { ...last, digest: first.digest! }
      for (const receipt of [{ durableSeq: 2 }, { ...last, durableSeq: 2 }, other])
        expect(await codeOf(() => asks[what](receipt))).toBe('CORRUPT')
      expect([...ctx.sessions]).toEqual([])
      expect((await ctx.sessionPersistence.list()).sessions).toHaveLength(1)
    },
  )

  it.each(Object.keys(asks) as (keyof typeof asks)[])(
    '%s: that says nothing of stored events is refused',
    async (what) => {
      const memory = await ctx.sessions.flush(ctx.sessions.create({ id: 'm' }))
      const wrong = [memory, {}, { durableSeq: 0.5 }, { durableSeq: -2 }, { durableSeq: 0, digest: 5 }]
      for (const receipt of wrong)
        expect(await codeOf(() => asks[what](receipt as FlushReceipt))).toBe('INVALID_SEQ')
    },
  )

  it('of a session that was removed and made anew is not held, although its seqs are', async () => {
    await ctx.sessionStorage.remove('a')
    const session = await ctx.sessionPersistence.create({ id: 'a' })
    await writeTwice(session)
    await ctx.sessions.dispose(session)
    expect(await codeOf(() => asks.resume(last))).toBe('CORRUPT')
    expect(await codeOf(() => asks.resume({ ...first, durableSeq: -1 }))).toBe('CORRUPT')
  })

  it('of a living session is looked for in the store before it is forked', async () => {
    const living = await ctx.sessionPersistence.resume('a')
    say(living, 'three')
    await ctx.sessionPersistence.fork(living, { id: 'c', receipt: last })
    const more = { durableSeq: 9 }
    expect(await codeOf(() => ctx.sessionPersistence.fork(living, { id: 'd', receipt: more }))).toBe(
      'CORRUPT',
    )
    expect(await codeOf(() => ctx.sessionPersistence.fork('a', { id: 'd', receipt: more }))).toBe('CORRUPT')
    const memory = ctx.sessions.create({ id: 'm' })
    say(memory, 'x')
    expect(await codeOf(() => ctx.sessionPersistence.fork(memory, { id: 'd', receipt: last }))).toBe(
      'INVALID_SEQ',
    )
    expect((await ctx.sessionPersistence.list()).sessions.map(({ id }) => id).sort()).toEqual(['a', 'c'])
  })

  it('beyond the cut of a fork or of a view is not asked about', async () => {
    const receipt = { durableSeq: 9 }
    await ctx.sessionPersistence.fork('a', { id: 'c', through: 0, receipt })
    expect((await ctx.sessionPersistence.inspect('a', { through: 0, receipt })).log.length).toBe(1)
    expect(await codeOf(() => ctx.sessionPersistence.inspect('a', { receipt }))).toBe('CORRUPT')
  })

  it('is of no use while persistence is off', async () => {
    const { ctx: off } = await start()
    say(off.sessions.create({ id: 'm' }), 'x')
    const receipt = { durableSeq: 0 }
    expect(await codeOf(() => off.sessionPersistence.fork('m', { receipt }))).toBe('DISABLED')
  })
})
