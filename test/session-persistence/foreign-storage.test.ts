import * as core from '@tidemark/session-core'
import { SessionError } from '@tidemark/session-core'
import * as persistence from '@tidemark/session-persistence'
import type { Lease, SessionStorage } from '@tidemark/session-persistence'
import { MemoryStorage } from '@tidemark/session-persistence/memory'
import { Context } from 'cordis'
import { afterEach, describe, expect, it } from 'vitest'
import { reported, say } from './host.ts'
import { codeOf, refusalOf } from './refusal.ts'

const secret = 'sk-user-content'
const hosts: Context[] = []

/** A host with a storage that a third party wrote, with these calls of its own. */
async function hostWith(own: Partial<SessionStorage>): Promise<Context> {
  const ctx = new Context()
  hosts.push(ctx)
  const storage = new MemoryStorage()
  const theirs = new Proxy(storage, {
    get: (target, key) => {
      const value: unknown = own[key as keyof SessionStorage] ?? Reflect.get(target, key)
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })
  await ctx.plugin(core)
  await ctx.plugin({
    name: 'theirs',
    apply: (inner: Context) => void inner.provide('sessionStorage', theirs),
  })
  await ctx.plugin(persistence, { enabled: true })
  return ctx
}

afterEach(async () => {
  for (const ctx of hosts.splice(0)) await ctx.fiber.dispose()
})

const lying = (lie: Partial<Lease>): SessionStorage['create'] =>
  async function (this: MemoryStorage, ...args) {
    const lease = await MemoryStorage.prototype.create.apply(this, args)
    return Object.assign(Object.create(lease) as Lease, lie)
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
  it.each([
    ['create', { create: fails }, (ctx: Context) => ctx.sessionPersistence.create()],
    ['acquire', { acquire: fails }, (ctx: Context) => ctx.sessionPersistence.resume('there')],
    ['read', { read: fails }, (ctx: Context) => ctx.sessionPersistence.inspect('there')],
    ['fork', { fork: fails }, (ctx: Context) => ctx.sessionPersistence.fork('there')],
    ['list', { list: fails }, (ctx: Context) => ctx.sessionPersistence.list()],
    ['create', { create: async () => null as never }, (ctx: Context) => ctx.sessionPersistence.create()],
  ])('that fails in %s is told as STORAGE_FAILED, and not in its own words', async (_, own, call) => {
    const ctx = await hostWith(own)
    const storage = ctx.get('sessionStorage') as SessionStorage
    if (!('create' in own)) {
      const claim = { incarnation: 'i', enabledBy: 'config' } as const
      await (await storage.create({ id: 'there', createdAt: 0 }, { claim })).release()
    }
    const refusal = await refusalOf(() => call(ctx))
    expect(refusal.code).toBe('STORAGE_FAILED')
    expect(refusal.message).not.toContain(secret)
  })

  it('that fails with an error of ours is told as it is', async () => {
    const full = new SessionError('SEALED', 'no more sessions here')
    const ctx = await hostWith({ create: () => Promise.reject(full) })
    expect(await codeOf(() => ctx.sessionPersistence.create())).toBe('SEALED')
  })
})
