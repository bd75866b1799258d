import { join } from 'node:path'
import { SessionError, type Session } from '@tidemark/session-core'
import * as persistence from '@tidemark/session-persistence'
import type { Lease } from '@tidemark/session-persistence'
import { MemoryStorage } from '@tidemark/session-persistence/memory'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { storedSeqs, readStored } from './files.ts'
import { load, reported, say, start, textsOf, type Started } from './host.ts'
import { codeOf, refusalOf } from './refusal.ts'
import { scratch } from './scratch.ts'

let root: string
let host: Started
beforeEach(async () => {
  root = join(scratch(), 'root')
  host = await start({ enabled: true, root, flushDelayMs: 1_000 })
})

describe('unloading persistence', () => {
  it('G5: flushes and ends every session, also of plugins that do not inject it', async () => {
    const { ctx } = host
    let mine!: Session
    await load(ctx, ['sessions'], async (guest) => {
      mine = await (guest.get('sessionPersistence') as persistence.Persistence).create({ id: 'guest' })
    })
    const ours = await ctx.sessionPersistence.create({ id: 'root' })
    const disposed: string[] = []
    ctx.on('tidemark/disposed', (session) => void disposed.push(session.id))
    for (const session of [mine, ours]) say(session, 'last words')
    await host.persistence.dispose()
    for (const id of ['guest', 'root']) expect(await storedSeqs(root, id)).toEqual([0])
    expect(disposed.sort()).toEqual(['guest', 'root'])
    expect([...ctx.sessions]).toEqual([])
    for (const session of [mine, ours]) {
      expect(await codeOf(() => say(session, 'more'))).toBe('DISPOSED')
      expect(await codeOf(() => ctx.sessions.flush(session))).toBe('DISPOSED')
    }
    expect(ctx.get('sessionPersistence')).toBe(undefined)
    expect(ctx.get('sessionStorage')).toBe(undefined)
    expect(reported(ctx)).toEqual([])
  })

  it('reloaded, the plugins that inject it resume their sessions, with a boundary', async () => {
    const { ctx } = host
    const lives: Session[] = []
    await load(ctx, ['sessionPersistence'], async (guest) => {
      const known = lives.length > 0
      const session = known
        ? await guest.sessionPersistence.resume('a')
        : await guest.sessionPersistence.create({ id: 'a' })
      say(session, `life ${lives.length}`)
      lives.push(session)
    })
    await host.persistence.dispose()
    await ctx.plugin(persistence, { enabled: true, root })
    for (let waits = 0; lives.length < 2 && waits < 200; waits++)
      await new Promise((resolve) => setTimeout(resolve, 5))
    expect(textsOf(lives[1]!)).toEqual(['life 0', 'life 1'])
    expect(lives[1]!.boundarySeq).toBe(1)
    await ctx.sessions.flush(lives[1]!)
    expect((await readStored(root, 'a')).flatMap(({ events }) => events)).toHaveLength(3)
    expect(reported(ctx)).toEqual([])
  })

  it('unloading core first comes to the same', async () => {
    const { ctx } = host
    const session = await ctx.sessionPersistence.create({ id: 'a' })
    say(session, 'last words')
    await host.core.dispose()
    expect(await storedSeqs(root, 'a')).toEqual([0])
    expect(await codeOf(() => say(session, 'more'))).toBe('DISPOSED')
    expect(reported(ctx)).toEqual([])
  })

  it('an operation under way ends before it, or is refused, and leaves no lease', async () => {
    const { ctx } = host
    await ctx.sessions.dispose(await ctx.sessionPersistence.create({ id: 'a' }))
    const service = ctx.sessionPersistence
    const opening = Promise.allSettled([
      service.resume('a'),
      service.create({ id: 'b' }),
      service.fork('a', { id: 'c' }),
    ])
    await host.persistence.dispose()
    for (const outcome of await opening) {
      if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ code: 'DISPOSED' })
    }
    expect([...ctx.sessions]).toEqual([])
    for (const ask of [
      () => service.resume('a'),
      () => service.create(),
      () => service.list(),
      () => service.inspect('a'),
    ]) {
      expect(await codeOf(ask)).toBe('DISPOSED')
    }
  })

  it('a plugin that goes while its session is being opened gets none, and nothing stays open', async () => {
    const { ctx } = host
    await ctx.sessions.dispose(await ctx.sessionPersistence.create({ id: 'a' }))
    let opening!: Promise<Session>
    const guest = await load(ctx, ['sessionPersistence'], (inner) => {
      opening = inner.sessionPersistence.resume('a')
      opening.catch(() => undefined)
    })
    await guest.dispose()
    await expect(opening).rejects.toThrow()
    expect(ctx.sessions.find('a')).toBe(undefined)
    say(await ctx.sessionPersistence.resume('a'), 'next')
  })
})

describe('the storage of somebody else', () => {
  const startOn = async (storage: MemoryStorage) => {
    const { ctx } = await start()
    await ctx.plugin({ name: 'storage', apply: (inner) => void inner.provide('sessionStorage', storage) })
    // Off and without a storage it stands already; a second one in its own corner uses the storage.
    const corner = ctx.isolate('sessionPersistence')
    await corner.plugin(persistence, { enabled: true })
    return corner
  }

  it('is not heard in its own words when a session is missing', async () => {
    const storage = new MemoryStorage()
    const ctx = await startOn(storage)
    const own = await refusalOf(() => ctx.sessionPersistence.resume('a'))
    for (const method of ['read', 'acquire', 'fork'] as const) {
      const missing = new SessionError('NOT_FOUND', 'no such row in table 7', { row: 7 })
      vi.spyOn(storage, method).mockRejectedValue(missing)
    }
    const asked = [
      () => ctx.sessionPersistence.resume('a'),
      () => ctx.sessionPersistence.inspect('a'),
      () => ctx.sessionPersistence.fork('a'),
    ]
    for (const ask of asked) {
      const refusal = await refusalOf(ask)
      expect([refusal.message, refusal.details]).toEqual([own.message, own.details])
    }
  })

  it('gets every lease back that leads to no session', async () => {
    const storage = new MemoryStorage()
    const ctx = await startOn(storage)
    const session = await ctx.sessionPersistence.create({ id: 'a' })
    say(session, 'one')
    await ctx.sessions.dispose(session)
    const leases: Lease[] = []
    for (const method of ['create', 'acquire', 'fork'] as const) {
      const call = storage[method].bind(storage) as (...args: unknown[]) => Promise<Lease>
      storage[method] = async (...args: unknown[]) => {
        const lease = await call(...args)
        vi.spyOn(lease, 'release')
        leases.push(lease)
        // Somebody makes a memory-only session of this id in between.
        if (!ctx.sessions.find(lease.header.id)) ctx.sessions.create({ id: lease.header.id })
        return lease
      }
    }
    const asked = [
      () => ctx.sessionPersistence.create({ id: 'b' }),
      () => ctx.sessionPersistence.resume('a'),
      () => ctx.sessionPersistence.fork('a', { id: 'c' }),
    ]
    for (const ask of asked) {
      await ctx.sessions.disposeAll()
      expect(await codeOf(ask)).toBe('EXISTS')
    }
    // Those of a create and a fork twice: what was made is claimed again, and taken back.
    expect(leases).toHaveLength(5)
    expect((await ctx.sessionPersistence.list()).sessions.map(({ id }) => id)).toEqual(['a'])
    for (const lease of leases) expect(lease.release).toHaveBeenCalledOnce()
  })
})
