import { SessionError } from '@tidemark/session-core'
import type { Rest, SessionStorage, StoredBatch } from '@tidemark/session-persistence'
import { MemoryStorage } from '@tidemark/session-persistence/memory'
import type { Context } from 'cordis'
import { describe, expect, it } from 'vitest'
import { upTo } from './batches.ts'
import { hostWith } from './foreign-host.ts'
import { say, textsOf } from './host.ts'
import { codeOf } from './refusal.ts'

/** A host that stores `count` messages of one session, each in a batch of its own. */
async function hostOf(count: number, own: Partial<SessionStorage>): Promise<Context> {
  const ctx = await hostWith(own)
  const session = await ctx.sessionPersistence.create({ id: 'a' })
  for (const index of upTo(count)) {
    say(session, `text ${index}`)
    await ctx.sessions.flush(session)
  }
  await ctx.sessions.dispose(session)
  return ctx
}

describe('a stored view', () => {
  /** The storage's own read, with other batches and what follows them. */
  const reading = (change: (batch: StoredBatch) => StoredBatch, rest?: Rest): SessionStorage['read'] =>
    async function (this: MemoryStorage, ...args) {
      const { header, batches } = await MemoryStorage.prototype.read.apply(this, args)
      const changed = async function* (): AsyncGenerator<StoredBatch> {
        for await (const batch of batches) yield change(batch)
      }
      return { header, batches: changed(), rest: () => rest }
    }

  it('G27: says how far the storage proves it to be durable', async () => {
    for (const durable of [-1, 0, 1, 2]) {
      const read = reading((batch) => ({ ...batch, isDurable: batch.tail.seq <= durable }))
      const view = await (await hostOf(3, { read })).sessionPersistence.inspect('a')
      expect([view.log.length, view.durableSeq, view.rest]).toEqual([3, durable, undefined])
    }
  })

  it.each(['pending', 'torn'] as const)('says of what follows the log that it is %s', async (kind) => {
    const rest: Rest = { kind, segment: '000001-000.jsonl', offset: 900, sizeBytes: 12 }
    const ctx = await hostOf(2, { read: reading((batch) => batch, rest) })
    const view = await ctx.sessionPersistence.inspect('a')
    expect(view.rest).toEqual(rest)
    expect(textsOf(view)).toEqual(['text 0', 'text 1'])
  })

  it('is all that a view of core is', async () => {
    const ctx = await hostOf(2, {})
    const view = await ctx.sessionPersistence.inspect('a')
    expect([view.id, view.messages().length, view.boundarySeq, view.durableSeq]).toEqual([
      'a',
      2,
      undefined,
      1,
    ])
  })

  it('ends where the caller says, and is durable no further than that', async () => {
    const ctx = await hostOf(3, {})
    const view = await ctx.sessionPersistence.inspect('a', { through: 1 })
    expect([textsOf(view), view.durableSeq]).toEqual([['text 0', 'text 1'], 1])
    for (const through of [3, -1, 0.5, Number.NaN, Infinity])
      expect(await codeOf(() => ctx.sessionPersistence.inspect('a', { through }))).toBe('INVALID_SEQ')
  })
})

describe('A10: a log that is damaged after seq 19', () => {
  /** Refuses whatever would read beyond. */
  const refuseBeyond = (through: number | undefined): void => {
    if (through === undefined || through > 19)
      throw new SessionError('CORRUPT', 'a: line 20', { sessionId: 'a', intactThrough: 19 })
  }
  const damaged: Partial<SessionStorage> = {
    async read(this: MemoryStorage, id, terms) {
      if (id === 'a') refuseBeyond(terms?.through)
      return MemoryStorage.prototype.read.call(this, id, terms)
    },
    async fork(this: MemoryStorage, source, ...rest) {
      if (source.id === 'a') refuseBeyond(source.through)
      return MemoryStorage.prototype.fork.call(this, source, ...rest)
    },
  }

  it('is forked and inspected at or before that', async () => {
    const ctx = await hostOf(40, damaged)
    for (const through of [10, 19]) {
      const child = await ctx.sessionPersistence.fork('a', { id: `c${through}`, through })
      expect(child.log.length).toBe(through + 2)
      expect(child.header.parent).toEqual({ id: 'a', seq: through })
      expect((await ctx.sessionPersistence.inspect('a', { through })).log.length).toBe(through + 1)
    }
  })

  it('is refused across the damage, with what is intact', async () => {
    const ctx = await hostOf(40, damaged)
    const asked = [
      () => ctx.sessionPersistence.fork('a', { id: 'c', through: 20 }),
      () => ctx.sessionPersistence.fork('a', { id: 'c' }),
      () => ctx.sessionPersistence.inspect('a'),
      () => ctx.sessionPersistence.resume('a'),
    ]
    for (const ask of asked)
      await expect(ask()).rejects.toMatchObject({ code: 'CORRUPT', details: { intactThrough: 19 } })
    expect([...ctx.sessions]).toEqual([])
  })
})
