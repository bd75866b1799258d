import { SessionError } from '@tidemark/session-core'
import type { Lease, SessionStorage, StoredBatch } from '@tidemark/session-persistence'
import { MemoryStorage } from '@tidemark/session-persistence/memory'
import type { Context } from 'cordis'
import { describe, expect, it, vi } from 'vitest'
import { newClaim } from './batches.ts'
import { altered, hostWith } from './foreign-host.ts'
import { reported, say } from './host.ts'
import { codeOf, refusalOf } from './refusal.ts'

const secret = 'sk-user-content'
const lying = (lie: Partial<Lease>): SessionStorage['create'] =>
  async function (this: MemoryStorage, ...args) {
    return altered(await MemoryStorage.prototype.create.apply(this, args), lie)
  }

describe('a storage of a third party', () => {
  it.each([
    ['that is behind', async () => ({ tail: { seq: 0, digest: 'd' }, durable: -1 })],
    ['without a word of it', async () => ({ tail: { seq: 0, digest: 'd' } }) as never],
    ['for nothing at all', async () => undefined as never],
    ['that is ahead of its own tail', async () => ({ tail: { seq: 0, digest: 'd' }, durable: 0 })],
  ])('with a receipt %s is a failed writer, and nothing is acknowledged', async (_, append) => {
    const ctx = await hostWith({ create: lying({ append }) })
    const session = await ctx.sessionPersistence.create({ id: 'a' })
    say(session, 'one')
    expect(await codeOf(() => ctx.sessions.flush(session))).toBe('STORAGE_FAILED')
    expect(session.durableSeq).toBe(-1)
    expect(await codeOf(() => say(session, 'two'))).toBe('STORAGE_FAILED')
    await ctx.sessions.dispose(session)
    expect(reported(ctx).length).toBeGreaterThan(0)
  })

  const fails = async (): Promise<never> => {
    throw new TypeError(secret)
  }
  const throws = (): never => {
    throw new TypeError(secret)
  }
  const repair = (ctx: Context) => ctx.sessionPersistence.repair('there', { acceptLossAfter: 0 })
  const resting = (rest: () => unknown): SessionStorage['read'] =>
    async function (this: MemoryStorage, ...args) {
      return { ...(await MemoryStorage.prototype.read.apply(this, args)), rest: rest as () => undefined }
    }
  it.each([
    ['create', { create: fails }, (ctx: Context) => ctx.sessionPersistence.create()],
    ['acquire', { acquire: fails }, (ctx: Context) => ctx.sessionPersistence.resume('there')],
    ['read', { read: fails }, (ctx: Context) => ctx.sessionPersistence.inspect('there')],
    ['fork', { fork: fails }, (ctx: Context) => ctx.sessionPersistence.fork('there')],
    ['list', { list: fails }, (ctx: Context) => ctx.sessionPersistence.list()],
    ['verify', { verify: fails }, (ctx: Context) => ctx.sessionPersistence.verify('there')],
    ['repair', { repair: fails }, repair],
    ['salvage', { salvage: fails }, (ctx: Context) => ctx.sessionPersistence.salvage('there')],
    ['rest', { read: resting(throws) }, (ctx: Context) => ctx.sessionPersistence.inspect('there')],
    ['create', { create: async () => null as never }, (ctx: Context) => ctx.sessionPersistence.create()],
  ])('that fails in %s is told as STORAGE_FAILED, and not in its own words', async (_, own, call) => {
    const ctx = await hostWith(own)
    const storage = ctx.get('sessionStorage') as SessionStorage
    if (!('create' in own)) await storage.create({ id: 'there', createdAt: 0 }, { claim: newClaim() })
    const refusal = await refusalOf(() => call(ctx))
    expect(refusal.code).toBe('STORAGE_FAILED')
    expect(refusal.message).not.toContain(secret)
  })

  it('that fails with an error of ours is told as it is', async () => {
    const full = new SessionError('SEALED', 'no more sessions here')
    const ctx = await hostWith({ create: () => Promise.reject(full) })
    expect(await codeOf(() => ctx.sessionPersistence.create())).toBe('SEALED')
  })

  const nonsense = (value: unknown) => async () => value as never
  it.each([
    ['verify', nonsense({ kind: 'fine' })],
    ['verify', nonsense({ kind: 'intact' })],
    ['verify', nonsense(undefined)],
    [
      'verify',
      nonsense({
        kind: 'unfinished',
        tail: { seq: 0 },
        rest: { kind: 'odd', sizeBytes: 1 },
      }),
    ],
    ['repair', nonsense(undefined)],
    ['repair', nonsense({ reason: 'torn' })],
    ['salvage', nonsense(undefined)],
    ['salvage', nonsense({ records: 5 })],
    [
      'salvage',
      nonsense({
        records: (async function* () {
          yield null
        })(),
      }),
    ],
    [
      'salvage',
      nonsense({
        records: (async function* () {
          yield { isProven: true }
        })(),
      }),
    ],
  ])('whose %s gives what it must not is told as STORAGE_FAILED', async (call, own) => {
    const ctx = await hostWith({ [call]: own })
    await ctx.sessionStorage.create({ id: 'there', createdAt: 0 }, { claim: newClaim() })
    const asked = {
      verify: () => ctx.sessionPersistence.verify('there'),
      repair: () => repair(ctx),
      salvage: () => ctx.sessionPersistence.salvage('there', { id: 'new' }),
    }
    expect(await codeOf(asked[call as keyof typeof asked])).toBe('STORAGE_FAILED')
    expect(await codeOf(() => ctx.sessionPersistence.inspect('new'))).toBe('NOT_FOUND')
  })

  it.each([
    ['no list', 'torn'],
    ['no record', [{ reason: 'torn' }]],
  ])('whose lease tells of recoveries with %s gets it back', async (_, recovered) => {
    const release = vi.fn(async () => undefined)
    const ctx = await hostWith({ create: lying({ recovered: recovered as never, release }) })
    expect(await codeOf(() => ctx.sessionPersistence.create({ id: 'a' }))).toBe('STORAGE_FAILED')
    expect(release).toHaveBeenCalledOnce()
    expect(ctx.sessions.find('a')).toBe(undefined)
  })

  it('whose rest is none that there can be is told as STORAGE_FAILED', async () => {
    for (const rest of [null, { kind: 'other', sizeBytes: 1 }, { kind: 'torn' }]) {
      const ctx = await hostWith({ read: resting(() => rest) })
      await ctx.sessionStorage.create({ id: 'there', createdAt: 0 }, { claim: newClaim() })
      expect(await codeOf(() => ctx.sessionPersistence.inspect('there'))).toBe('STORAGE_FAILED')
    }
  })

  it('that does not say of a batch whether it is durable has not proven it', async () => {
    const silent: SessionStorage['read'] = async function (this: MemoryStorage, ...args) {
      const { header, batches } = await MemoryStorage.prototype.read.apply(this, args)
      const without = async function* (): AsyncGenerator<StoredBatch> {
        for await (const { isDurable: _, ...batch } of batches) yield batch as StoredBatch
      }
      return { header, batches: without() }
    }
    const ctx = await hostWith({ read: silent })
    const session = await ctx.sessionPersistence.create({ id: 'a' })
    say(session, 'one')
    await ctx.sessions.flush(session)
    const view = await ctx.sessionPersistence.inspect('a')
    expect([view.log.length, view.durableSeq]).toEqual([1, -1])
  })
})
