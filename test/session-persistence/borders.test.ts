import { join } from 'node:path'
import { isSessionError, type Session } from '@tidemark/session-core'
import type * as core from '@tidemark/session-core'
import * as persistence from '@tidemark/session-persistence'
import { MemoryStorage } from '@tidemark/session-persistence/memory'
import type { Context } from 'cordis'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { StoredSessions } from '../../packages/session-persistence/src/stored-sessions.ts'
import { Authorization, authorizeMsMax } from '../../packages/session-persistence/src/authorization.ts'
import { load, say, startJournal, textsOf, typesOf } from './host.ts'
import { codeOf } from './refusal.ts'
import { scratch } from './scratch.ts'

let root: string
let ctx: Context
beforeEach(async () => {
  root = join(scratch(), 'root')
  ctx = await startJournal(root)
})
afterEach(() => {
  vi.useRealTimers()
})

describe('fork', () => {
  it('of a session that another persistence keeps inherits from that session, whatever bears its id here', async () => {
    const here = await ctx.sessionPersistence.create({ id: 'a' })
    say(here, 'from here')
    await ctx.sessions.dispose(here)
    const other = new persistence.Persistence(
      ctx,
      { kind: 'on', by: 'config' },
      new StoredSessions(ctx, ctx.sessions, {
        storage: new MemoryStorage(),
        enabledBy: 'config',
        flushDelayMs: 1,
        pendingSizeBytesMax: 1_000_000,
        authorize: 'off',
        window: {
          snapshotEvents: 1_000,
          snapshotSizeBytes: 1_000_000,
          retainEvents: 1_000,
          retainSizeBytes: 1_000_000,
        },
      }),
    )
    const there = await other.create({ id: 'a' })
    say(there, 'from there')
    const child = await ctx.sessionPersistence.fork(there, { id: 'child' })
    expect(textsOf(child)).toEqual(['from there'])
    expect(textsOf(await ctx.sessionPersistence.inspect('child'))).toEqual(['from there'])
  })

  it('of a session that was resumed while it was empty inherits nothing, and is marked', async () => {
    await ctx.sessions.dispose(await ctx.sessionPersistence.create({ id: 'e' }))
    const resumed = await ctx.sessionPersistence.resume('e')
    const child = await ctx.sessionPersistence.fork(resumed, { id: 'child' })
    expect(child.header.parent).toEqual({ id: 'e', seq: -1 })
    expect(typesOf(await ctx.sessionPersistence.inspect('child'))).toEqual(['session/resumed'])
  })

  it('of a stored session carries what the caller names, as a resume does', async () => {
    const plugin = await load(ctx, ['sessions', 'sessionPersistence'], async (guest) => {
      const schema = { '~standard': { validate: () => ({}) } }
      guest.effect(() => guest.sessions.define({ owner: 'guest', events: { 'guest/noted': { schema } } }))
      const session = await guest.sessionPersistence.create({ id: 'c' })
      session.append('guest/noted' as 'turn/start', {})
    })
    await plugin.dispose()
    expect(await codeOf(() => ctx.sessionPersistence.fork('c'))).toBe('UNKNOWN_TYPE')
    const child = await ctx.sessionPersistence.fork('c', { carry: ['guest/noted'] })
    expect(typesOf(child)).toEqual(['guest/noted', 'session/resumed'])
    expect(child.carried).toEqual(['guest/noted'])
  })

  it.each([[undefined], [null], [5], [{ id: 'a' }]])(
    'of %j, which is no session, is refused',
    async (source) => {
      expect(await codeOf(() => ctx.sessionPersistence.fork(source as unknown as Session))).toBe('INVALID_ID')
    },
  )
})

it('a header that leaves no room for later claims is refused when the session is to be created', async () => {
  const sizes = [240_000, 250_000, 261_694, 262_144]
  for (const [index, size] of sizes.entries()) {
    const id = `m${index}`
    let session: Session
    try {
      session = await ctx.sessionPersistence.create({ id, meta: { x: 'a'.repeat(size) } })
    } catch (error) {
      expect(isSessionError(error) && error.code).toBe('INVALID_PAYLOAD')
      continue
    }
    say(session, 'kept')
    await ctx.sessions.dispose(session)
    expect(textsOf(await ctx.sessionPersistence.resume(id))).toEqual(['kept'])
  }
})

it('a plugin that is reloaded while its resume is under way gets the session, and its former self a typed no', async () => {
  const session = await ctx.sessionPersistence.create({ id: 'a' })
  say(session, 'one')
  await ctx.sessions.dispose(session)
  let former: Promise<unknown> = Promise.resolve()
  const first = await load(ctx, ['sessions', 'sessionPersistence'], (guest) => {
    former = guest.sessionPersistence.resume('a').catch((error: unknown) => error)
  })
  const unloaded = first.dispose()
  const resumed: Session[] = []
  await load(ctx, ['sessions', 'sessionPersistence'], async (guest) => {
    await unloaded
    resumed.push(await guest.sessionPersistence.resume('a'))
  })
  expect(await former).toMatchObject({ code: 'DISPOSED' })
  expect(textsOf(resumed[0]!)).toEqual(['one'])
})

it('a page goes on after a `next`, and after nothing else', async () => {
  for (const after of [5, {}, 'x', ''] as unknown as string[]) {
    expect(await codeOf(() => ctx.sessionPersistence.list({ after }))).toBe('INVALID_SEQ')
  }
  for (const countMax of [0, -1, 0.5, Number.NaN]) {
    expect(await codeOf(() => ctx.sessionPersistence.list({ countMax }))).toBe('INVALID_SEQ')
  }
})

describe('authorization', () => {
  const question = { operation: 'resume', sessionId: 'a', as: 'me' } as const
  const asking = (...listeners: ((request: persistence.AuthorizeRequest) => unknown)[]): Authorization => {
    const host = { events: { dispatch: () => listeners }, logger: { error: () => undefined } }
    return new Authorization(host as unknown as core.Host, 'required', () => Promise.resolve(undefined))
  }

  it('takes an explicit yes of every listener', async () => {
    const yes = (request: persistence.AuthorizeRequest): void => request.allow()
    expect(await asking(yes, yes).allows(question)).toBe(true)
    expect(await asking(yes, () => undefined).allows(question)).toBe(false)
    expect(await asking(yes, (request) => request.deny()).allows(question)).toBe(false)
  })

  it('does not wait for ever: no answer in time is a no', async () => {
    vi.useFakeTimers()
    const asked = asking(() => new Promise<never>(() => undefined)).allows(question)
    await vi.advanceTimersByTimeAsync(authorizeMsMax)
    expect(await asked).toBe(false)
  })
})
