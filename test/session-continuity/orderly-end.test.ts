import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Handle } from '@tidemark/session-continuity'
import { isEvent, type Session } from '@tidemark/session-core'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { create, heardIn, open, say, startHost, type Hosted } from './hosted.ts'
import { scratch } from './scratch.ts'
import { FileStore, systemPort, type ContinuityPort } from './source.ts'
import { allOperations, credential, reasonFor, refusalOf } from './world.ts'

let base: string
beforeEach(() => {
  base = scratch()
})

interface Open {
  readonly host: Hosted
  readonly as: Handle
  readonly session: Session
}

async function opened(config: Parameters<typeof startHost>[1] = {}): Promise<Open> {
  const host = await startHost(base, config)
  const as = await open(host.ctx, 'begin')
  return { host, as, session: await create(host.ctx, as) }
}

type End = (at: Open) => Promise<unknown>

const ends: Readonly<Record<string, End>> = {
  'the host is disposed of': ({ host }) => host.ctx.fiber.dispose(),
  'continuity is unloaded': ({ host }) => host.continuity.dispose(),
  'persistence is unloaded': ({ host }) => host.persistence.dispose(),
  'continuity is unloaded, then the host is disposed of': async ({ host }) => {
    await host.continuity.dispose()
    await host.ctx.fiber.dispose()
  },
  'both are unloaded at once': ({ host }) =>
    Promise.all([host.continuity.dispose(), host.persistence.dispose()]),
  'the handle is closed': ({ as }) => as.close(),
  'the handle is closed, then the session is ended': async ({ host, as, session }) => {
    await as.close()
    await host.ctx.sessions.dispose(session)
  },
  'the session is ended, then the handle is closed': async ({ host, as, session }) => {
    await host.ctx.sessions.dispose(session)
    await as.close()
  },
  'the handle is closed while the session is ended': ({ host, as, session }) =>
    Promise.all([as.close(), host.ctx.sessions.dispose(session)]),
  'the handle is refreshed': async ({ as }) => {
    const principal = { id: 'alice', kind: 'human', assurance: 1, authenticatedAt: Date.now() + 1_000 }
    await as.refresh({ credential: { mechanism: 'test', token: JSON.stringify(principal) } })
  },
  'the scope is reset': ({ as }) => as.reset({ reason: 'the next job' }),
  'the scope is recovered': async ({ host }) => {
    const principal = { id: 'alice', kind: 'human', assurance: 1, authenticatedAt: Date.now() + 1_000 }
    const credential = { mechanism: 'test', token: JSON.stringify(principal) }
    await host.ctx.continuity.recover('s', { credential, reason: 'to be sure' })
  },
}

describe('an orderly end', () => {
  it.each(Object.entries(ends))('keeps what was appended before it: %s', async (_, end) => {
    const at = await opened()
    say(at.session, 'precious')
    await end(at)
    await at.host.ctx.fiber.dispose()
    expect(await heardIn(base)).toEqual(['precious'])
  })

  it.each(Object.entries(ends))('leaves no session that takes what is lost: %s', async (_, end) => {
    const at = await opened()
    say(at.session, 'precious')
    await end(at)
    expect(() => say(at.session, 'late')).toThrow(expect.objectContaining({ code: 'DISPOSED' }))
    expect(at.host.ctx.get('sessions') === undefined || !at.host.ctx.sessions.find('one')).toBe(true)
  })

  it('of a plugin that uses continuity keeps what the plugin appended', async () => {
    const { ctx } = await startHost(base)
    const apply = async (inner: typeof ctx): Promise<void> => {
      const as = await open(inner, 'begin')
      say(await create(inner, as), 'precious')
    }
    await ctx.plugin({ name: 'user', inject: ['sessions', 'sessionPersistence', 'continuity'], apply })
    await ctx.fiber.dispose()
    expect(await heardIn(base)).toEqual(['precious'])
  })

  it('leaves no orphan', async () => {
    const { host, session } = await opened()
    say(session, 'precious')
    await host.ctx.fiber.dispose()
    const { ctx } = await startHost(base)
    expect(await ctx.continuity.orphans({ as: await open(ctx, 'resume') })).toEqual([])
  })

  it('ends the sessions of its own handle, and no other ones', async () => {
    const { host, as, session } = await opened()
    const { ctx } = host
    const second = await open(ctx, 'resume')
    const other = await create(ctx, second, 'two')
    const memory = ctx.sessions.create({ meta: as.sessionMeta })
    expect((await refusalOf(() => ctx.sessionPersistence.resume('one', { as: second }))).code).toBe('LOCKED')
    await second.close()
    expect(() => say(other, 'late')).toThrow(expect.objectContaining({ code: 'DISPOSED' }))
    say(session, 'goes on')
    say(memory, 'goes on')
    await ctx.sessions.flush(session)
    await as.close()
    say(memory, 'goes on still')
  })

  it('a session goes to the handle that resumed it last', async () => {
    const { host, as, session } = await opened()
    say(session, 'one')
    await host.ctx.sessions.dispose(session)
    const second = await open(host.ctx, 'resume')
    const resumed = await host.ctx.sessionPersistence.resume('one', { as: second })
    await as.close()
    say(resumed, 'two')
    await second.close()
    await host.ctx.fiber.dispose()
    expect(await heardIn(base)).toEqual(['one', 'two'])
  })

  it('a fork belongs to the handle that made it', async () => {
    const { host, as, session } = await opened()
    say(session, 'one')
    await host.ctx.sessions.flush(session)
    const child = await host.ctx.sessionPersistence.fork('one', { as, id: 'child', meta: as.sessionMeta })
    say(child, 'two')
    await as.close()
    expect(() => say(child, 'late')).toThrow(expect.objectContaining({ code: 'DISPOSED' }))
    await host.ctx.fiber.dispose()
    expect(await heardIn(base, 'child')).toEqual(['one', 'two'])
  })

  it('a session that is made while its handle closes is kept or refused, and is not left over', async () => {
    const { host, as, session } = await opened()
    say(session, 'precious')
    const made = Array.from({ length: 8 }, (_, index) => create(host.ctx, as, `more-${index}`))
    const [closed, ...answers] = await Promise.allSettled([as.close(), ...made])
    expect(closed.status).toBe('fulfilled')
    for (const answer of answers)
      if (answer.status === 'fulfilled')
        expect(() => say(answer.value, 'late')).toThrow(expect.objectContaining({ code: 'DISPOSED' }))
    for (const left of host.ctx.sessions) expect(left.id).toBe('nothing')
  })
})

describe('an end that cannot keep everything', () => {
  it('is told by close, and the incarnation is an orphan', async () => {
    let operations = allOperations
    const { host, as, session } = await opened({ grants: () => ({ operations }) })
    say(session, 'lost')
    operations = operations.filter((operation) => operation !== 'session/flush')
    expect((await refusalOf(() => as.close())).code).toBe('DENIED')
    expect(as.isOpen).toBe(false)
    await as.close()
    expect(() => say(session, 'late')).toThrow(expect.objectContaining({ code: 'DISPOSED' }))
    operations = allOperations
    const next = await open(host.ctx, 'resume')
    const orphans = await host.ctx.continuity.orphans({ as: next })
    expect(orphans.map(({ incarnation }) => incarnation)).toEqual([as.incarnation])
    expect((await host.ctx.sessionPersistence.resume('one', { as: next })).id).toBe('one')
  })

  it('does not wait for ever: a write that never ends is given up', { timeout: 20_000 }, async () => {
    let answer: () => void = () => undefined
    const never = new Promise<void>((resolve) => (answer = resolve))
    let isStuck = false
    const grants = async () => {
      if (isStuck) await never
      return { operations: allOperations }
    }
    const { host, as, session } = await opened({ grants, answerMsMax: 60_000, flushMsMax: 200 })
    say(session, 'lost')
    isStuck = true
    expect(await refusalOf(() => as.close())).toMatchObject({ code: 'STORAGE_FAILED', reason: 'unavailable' })
    expect(() => say(session, 'late')).toThrow(expect.objectContaining({ code: 'DISPOSED' }))
    isStuck = false
    answer()
    await host.ctx.fiber.dispose()
  })

  it('continuity is unloaded without persistence, and loaded again', async () => {
    const { host, session } = await opened()
    await host.persistence.dispose()
    await host.continuity.restart()
    expect(() => say(session, 'late')).toThrow(expect.objectContaining({ code: 'DISPOSED' }))
    expect((await open(host.ctx, 'resume')).isOpen).toBe(true)
  })
})

describe('a reset', () => {
  it('keeps what every session of the scope holds, and releases it: the fresh handle resumes at once', async () => {
    const { host, as, session } = await opened()
    const second = await open(host.ctx, 'resume')
    say(session, 'under the first')
    say(await create(host.ctx, second, 'two'), 'under the second')
    const fresh = await as.reset({ reason: 'the next job' })
    expect([as.isOpen, second.isOpen, fresh.isOpen]).toEqual([false, false, true])
    const resumed = await host.ctx.sessionPersistence.resume('one', { as: fresh })
    say(resumed, 'under the fresh one')
    await host.ctx.sessionPersistence.resume('two', { as: fresh })
    await host.ctx.fiber.dispose()
    expect(await heardIn(base)).toEqual(['under the first', 'under the fresh one'])
    expect(await heardIn(base, 'two')).toEqual(['under the second'])
  })

  it('happens, though a session cannot be written', async () => {
    let operations = allOperations
    const { host, as, session } = await opened({ grants: () => ({ operations }) })
    say(session, 'lost')
    operations = operations.filter((operation) => operation !== 'session/flush')
    const fresh = await as.reset({ reason: 'it leaked' })
    expect([fresh.generation, as.isOpen]).toEqual([2, false])
    operations = allOperations
    const orphans = await host.ctx.continuity.orphans({ as: fresh })
    expect(orphans.map(({ incarnation }) => incarnation)).toEqual([as.incarnation])
  })

  it('that is refused ends no session', async () => {
    const operations = allOperations.filter((operation) => operation !== 'reset')
    const { host, as, session } = await opened({ grants: () => ({ operations }) })
    expect(await reasonFor(() => as.reset({ reason: 'no' }))).toBe('no-grant')
    say(session, 'goes on')
    await host.ctx.sessions.flush(session)
  })

  it('leaves the sessions of others alone', async () => {
    const { host, as } = await opened()
    const bob = await open(host.ctx, 'begin', 'bob')
    const session = await create(host.ctx, bob, 'of bob')
    await as.reset({ reason: 'the next job' })
    say(session, 'goes on')
    await host.ctx.sessions.flush(session)
    expect(bob.isOpen).toBe(true)
  })
})

describe('a refresh that is refused', () => {
  it('ends no session', async () => {
    const { host, as, session } = await opened()
    expect(await reasonFor(() => as.refresh({ credential: undefined }))).toBe('anonymous')
    const weaker = JSON.stringify({ id: 'alice', kind: 'human', assurance: 0, authenticatedAt: Date.now() })
    expect(await reasonFor(() => as.refresh({ credential: { mechanism: 'test', token: weaker } }))).toBe(
      'weaker-assurance',
    )
    say(session, 'goes on')
    await host.ctx.sessions.flush(session)
    expect(as.isOpen).toBe(true)
  })
})

describe('a handle that is fenced', () => {
  it('by a recover in this process is over', async () => {
    const { host, as } = await opened()
    await ends['the scope is recovered']!({ host, as, session: undefined as never })
    expect(as.isOpen).toBe(false)
    for (let round = 0; round < 2; round++)
      expect(await refusalOf(() => as.update())).toMatchObject({ code: 'FENCED', reason: 'stale-generation' })
  })

  it('by another process is over from its next use on, by whatever it is used', async () => {
    for (const use of ['update', 'flush'] as const) {
      base = scratch()
      const { host, as, session } = await opened()
      const { ctx: other } = await startHost(base)
      await (await open(other, 'resume')).reset({ reason: 'elsewhere' })
      expect(as.isOpen).toBe(true)
      if (use === 'update') expect(await reasonFor(() => as.update())).toBe('stale-generation')
      else {
        say(session, 'lost')
        expect((await refusalOf(() => host.ctx.sessions.flush(session))).code).toBe('DENIED')
      }
      expect(as.isOpen).toBe(false)
      await expect.poll(() => host.ctx.sessions.find('one')).toBeUndefined()
    }
  })
})

describe('an opening that came to nothing', () => {
  it.each<[string, (at: Open, second: Handle) => Promise<unknown>]>([
    ['a resume', ({ host }, second) => host.ctx.sessionPersistence.resume('one', { as: second })],
    ['a create', ({ host }, second) => create(host.ctx, second)],
  ])('is of no session: %s', async (_, attempt) => {
    const { host, as, session } = await opened()
    say(session, 'one')
    const second = await open(host.ctx, 'resume')
    await refusalOf(() => attempt({ host, as, session }, second))
    await host.ctx.sessions.dispose(session)
    const resumed = await host.ctx.sessionPersistence.resume('one', { as })
    await second.close()
    say(resumed, 'two')
    await as.close()
    await host.ctx.fiber.dispose()
    expect(await heardIn(base)).toEqual(['one', 'two'])
  })
})

describe('what a session could not write that ended before its handle', () => {
  it.each<[string, (at: Open) => Promise<unknown>]>([
    ['it was ended', ({ host, session }) => host.ctx.sessions.dispose(session)],
    ['persistence was unloaded', ({ host }) => host.persistence.dispose()],
    ['its writer failed', ({ session }) => refusalOf(() => session.flush())],
  ])('rejects the close of the handle, and leaves an orphan: %s', async (_, end) => {
    let operations = allOperations
    const at = await opened({ grants: () => ({ operations }) })
    const { as, session } = at
    say(session, 'kept')
    await session.flush()
    say(session, 'lost')
    operations = operations.filter((operation) => operation !== 'session/flush')
    await end(at)
    operations = allOperations
    expect(['DENIED', 'STORAGE_FAILED']).toContain((await refusalOf(() => as.close())).code)
    await at.host.ctx.fiber.dispose()
    const { ctx } = await startHost(base)
    const orphans = await ctx.continuity.orphans({ as: await open(ctx, 'resume') })
    expect(orphans.map(({ incarnation }) => incarnation)).toEqual([as.incarnation])
    expect(await heardIn(base)).toEqual(['kept'])
  })

  it('is nothing where it holds only what a session starts with', async () => {
    const { host, as, session } = await opened()
    say(session, 'kept')
    await host.ctx.sessions.dispose(session)
    await host.ctx.sessions.dispose(await host.ctx.sessionPersistence.resume('one', { as }))
    await as.close()
  })
})

describe('a session that cannot be written', () => {
  it('is waited for once, whatever ends its handle', { timeout: 20_000 }, async () => {
    let answer: () => void = () => undefined
    const never = new Promise<void>((resolve) => (answer = resolve))
    const { host, as, session } = await opened({ flushMsMax: 200 })
    host.ctx.on('tidemark/authorize', async ({ operation, allow }) => {
      if (operation === 'flush') await never
      allow()
    })
    say(session, 'lost')
    const waits = vi.spyOn(globalThis, 'setTimeout')
    await as.reset({ reason: 'the next job' })
    const waited = waits.mock.calls.filter(([, durationMs]) => durationMs === 200)
    waits.mockRestore()
    expect(waited.length).toBe(1)
    answer()
  })
})

describe('while a generation ends', () => {
  const moves: Readonly<Record<string, (at: Open) => Promise<Handle>>> = {
    'by a reset of the same handle': ({ as }) => as.reset({ reason: 'the next job' }),
    'by a reset of another handle': async ({ host }) =>
      (await open(host.ctx, 'resume')).reset({ reason: 'the next job' }),
    'by a recover': ({ host }) => {
      const { ctx } = host
      const authenticatedAt = Date.now() + 1_000
      return ctx.continuity.recover('s', {
        credential: credential('alice', { authenticatedAt }),
        reason: 'lost',
      })
    },
  }

  it.each(Object.entries(moves))('what is taken is kept: %s', async (_, move) => {
    const at = await opened()
    const { ctx } = at.host
    const taken = new Map<string, string[]>()
    let isOver = false
    const make = async (maker: number): Promise<void> => {
      for (let round = 0; !isOver; round++) {
        const [made] = await Promise.allSettled([create(ctx, at.as, `${maker}-${round}`)])
        if (made.status === 'rejected') continue
        const { value: session } = made
        for (const text of ['one', 'two', 'three']) {
          const [told] = await Promise.allSettled([(async () => say(session, text))()])
          if (told.status === 'rejected') break
          taken.set(session.id, [...(taken.get(session.id) ?? []), text])
          await new Promise((resolve) => setTimeout(resolve, 2))
        }
      }
    }
    const makers = [0, 1, 2].map(make)
    await expect.poll(() => taken.size).toBeGreaterThan(2)
    const fresh = await move(at)
    isOver = true
    await Promise.all(makers)
    expect(at.as.isOpen).toBe(false)
    const found = new Map<string, string[]>()
    for (const id of taken.keys()) {
      const { log } = await ctx.sessionPersistence.inspect(id, { as: fresh })
      const texts = [...log].flatMap((event) =>
        isEvent(event, 'user/message') ? event.data.parts.map((part) => Object(part).text as string) : [],
      )
      found.set(id, texts)
    }
    expect(found).toEqual(taken)
  })

  it('a reset that a damaged chain refuses ends no session', async () => {
    const { host, as, session } = await opened()
    const second = await open(host.ctx, 'resume')
    const other = await create(host.ctx, second, 'two')
    const third = await open(host.ctx, 'resume')
    await third.audit({ action: 'cut' })
    await third.close()
    const path = join(base, 'root', 'continuity', 'scopes', 's-s', 'audit', '000003.jsonl')
    writeFileSync(path, readFileSync(path, 'utf8').split('\n').slice(0, 2).join('\n') + '\n')
    expect(await reasonFor(() => as.reset({ reason: 'no' }))).toBe('damaged')
    for (const each of [session, other]) {
      say(each, 'goes on')
      await each.flush()
    }
    await create(host.ctx, as, 'three')
  })

  it('a reset whose state cannot be written has ended the sessions, and leaves the handles open', async () => {
    let isFull = false
    const link: ContinuityPort['link'] = async (from, to) => {
      if (isFull && to.includes('state-')) throw Object.assign(new Error('ENOSPC'), { code: 'ENOSPC' })
      await systemPort.link(from, to)
    }
    const folders = { root: join(base, 'root'), witness: join(base, 'witness') }
    const store = new FileStore({ port: { ...systemPort, link }, ...folders, auditSizeBytesMax: 1_048_576 })
    const host = await startHost(base, { root: undefined, witness: undefined })
    host.ctx.provide('continuityStore', store)
    await expect.poll(() => host.ctx.get('continuity')).toBeDefined()
    const as = await open(host.ctx, 'begin')
    const session = await create(host.ctx, as)
    say(session, 'one')
    isFull = true
    expect(await reasonFor(() => as.reset({ reason: 'no' }))).toBe('unavailable')
    isFull = false
    expect(() => say(session, 'late')).toThrow(expect.objectContaining({ code: 'DISPOSED' }))
    expect([as.isOpen, as.generation]).toEqual([true, 1])
    say(await host.ctx.sessionPersistence.resume('one', { as }), 'two')
    await as.close()
    await host.ctx.fiber.dispose()
    expect(await heardIn(base)).toEqual(['one', 'two'])
  })
})
