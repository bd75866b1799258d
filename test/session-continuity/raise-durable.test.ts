import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Handle } from '@tidemark/session-continuity'
import { SessionError, type Session } from '@tidemark/session-core'
import type { Context } from 'cordis'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { bundled } from '../bundle.ts'
import { create, open, say, startHost, type Hosted } from './hosted.ts'
import { scratch } from './scratch.ts'
import { allOperations, credential, refusalOf } from './world.ts'

let base: string
beforeEach(() => {
  base = scratch()
})

describe('an acknowledged raise', () => {
  it('stands durably in the log of each living session of the scope', async () => {
    const { ctx } = await startHost(base)
    const as = await open(ctx, 'begin')
    const second = await open(ctx, 'resume')
    const sessions = [await create(ctx, as, 'one'), await create(ctx, second, 'two')]
    for (const session of sessions) say(session, 'before')
    await as.raise('secret')
    for (const session of sessions) {
      expect(session.log.last).toMatchObject({ type: 'label/raised', data: { label: 'secret' } })
      expect(session.durableSeq).toBe(session.log.length - 1)
    }
  })

  it.each(['reset', 'close, resume and reset'])('is not lost to a %s at once', async (how) => {
    const { ctx } = await startHost(base)
    const as = await open(ctx, 'begin')
    const session = await create(ctx, as)
    say(session, 'before')
    await ctx.sessions.flush(session)
    await as.raise('secret')
    if (how !== 'reset') await as.close()
    const last = how === 'reset' ? as : await open(ctx, 'resume')
    const fresh = await last.reset({ reason: 'the next job' })
    const resumed = await ctx.sessionPersistence.resume('one', { as: fresh })
    expect([fresh.sensitivity, ctx.continuity.labelOf(resumed)]).toEqual(['public', 'secret'])
  })

  it('of two at once each is durable when it resolves', async () => {
    const { ctx } = await startHost(base)
    const as = await open(ctx, 'begin')
    const session = await create(ctx, as)
    say(session, 'before')
    await Promise.all([as.raise('confidential'), as.raise('secret'), as.raise('internal')])
    expect(session.durableSeq).toBe(session.log.length - 1)
    expect(ctx.continuity.labelOf(session)).toBe('secret')
  })

  it('is not lost to a kill, though the scope is reset after it', { timeout: 120_000 }, async () => {
    const child = spawn(process.execPath, [bundled('raiser'), base], {
      stdio: ['ignore', 'inherit', 'inherit'],
    })
    expect(await once(child, 'close')).toEqual([null, 'SIGKILL'])
    const { ctx } = await startHost(base)
    const as = await open(ctx, 'resume')
    expect(as.sensitivity).toBe('secret')
    const fresh = await as.reset({ reason: 'the next job' })
    const session = await ctx.sessionPersistence.resume('one', { as: fresh })
    expect([fresh.sensitivity, ctx.continuity.labelOf(session)]).toEqual(['public', 'secret'])
  })
})

describe('a raise whose label a session cannot be written', () => {
  it('fails as any other one: it holds in memory, and the handle is over, an orphan', async () => {
    let operations = allOperations
    const { ctx } = await startHost(base, { grants: () => ({ operations }) })
    const as = await open(ctx, 'begin')
    const session = await create(ctx, as)
    say(session, 'before')
    await ctx.sessions.flush(session)
    operations = operations.filter((operation) => operation !== 'session/flush')
    expect((await refusalOf(() => as.raise('secret'))).code).toBe('DENIED')
    expect([as.isOpen, as.sensitivity, ctx.continuity.labelOf(session)]).toEqual([false, 'secret', 'secret'])
    expect(() => say(session, 'late')).toThrow(expect.objectContaining({ code: 'DISPOSED' }))
    operations = allOperations
    const next = await open(ctx, 'resume')
    expect(next.sensitivity).toBe('secret')
    const orphans = await ctx.continuity.orphans({ as: next })
    expect(orphans.map(({ incarnation }) => incarnation)).toEqual([as.incarnation])
  })

  it('what was appended before a raise that fails for another reason is kept', async () => {
    const { ctx } = await startHost(base)
    const as = await open(ctx, 'begin')
    const session = await create(ctx, as)
    say(session, 'before')
    expect((await refusalOf(() => as.raise('Secret'))).reason).toBe('unknown-label')
    expect(session.durableSeq).toBe(session.log.length - 1)
    const next = await open(ctx, 'resume')
    const resumed = await ctx.sessionPersistence.resume('one', { as: next })
    expect(ctx.continuity.labelOf(resumed)).toBe('secret')
  })
})

describe('a label that is not configured', () => {
  it('is refused by its name and those that are, and the handle ends at the highest', async () => {
    const { ctx } = await startHost(base)
    const as = await open(ctx, 'begin')
    const { code, message, details } = await refusalOf(() => as.raise('Confidential'))
    expect(code).toBe('UNSUPPORTED_FORMAT')
    expect(details).toMatchObject({
      label: 'Confidential',
      labels: ['public', 'internal', 'confidential', 'secret'],
    })
    expect(message).toContain('"Confidential"')
    expect(message).toContain('public, internal, confidential, secret')
    expect([as.isOpen, as.sensitivity]).toEqual([false, 'secret'])
  })

  it('of any length is told in bounds', async () => {
    const { ctx } = await startHost(base)
    const as = await open(ctx, 'begin')
    const { message, details } = await refusalOf(() => as.raise('x'.repeat(1_000_000)))
    expect(message.length).toBeLessThan(500)
    expect(JSON.stringify(details).length).toBeLessThan(500)
  })
})

/** What is written after another process raised the scope, and before this one asked. */
describe('a raise of another process', () => {
  interface Written {
    readonly ctx: Context
    readonly as: Handle
    readonly session: Session
  }

  const writes: Readonly<Record<string, (at: Written & Hosted) => Promise<unknown>>> = {
    'the session is flushed': ({ session }) => session.flush(),
    'the session is ended': ({ ctx, session }) => ctx.sessions.dispose(session),
    'the handle is closed': ({ as }) => as.close(),
    'the scope is reset': ({ as }) => as.reset({ reason: 'the next job' }),
    'the handle is refreshed': ({ as }) =>
      as.refresh({ credential: credential('alice', { authenticatedAt: Date.now() + 1_000 }) }),
    'continuity is unloaded': ({ continuity }) => continuity.dispose(),
    'persistence is unloaded': ({ persistence }) => persistence.dispose(),
    'the host is disposed of': ({ ctx }) => ctx.fiber.dispose(),
  }

  const raisedElsewhere = async (config: Parameters<typeof startHost>[1] = {}): Promise<Written & Hosted> => {
    const host = await startHost(base, config)
    const as = await open(host.ctx, 'begin')
    const session = await create(host.ctx, as)
    await session.flush()
    const { ctx: other } = await startHost(base)
    await (await open(other, 'resume')).raise('secret')
    await other.fiber.dispose()
    return { ...host, as, session }
  }

  it.each(Object.entries(writes))('stands in the log with what is written: %s', async (_, write) => {
    const at = await raisedElsewhere()
    say(at.session, 'after the raise')
    await write(at)
    expect(at.session.log.last).toMatchObject({ type: 'label/raised', data: { label: 'secret' } })
    expect(at.session.durableSeq).toBe(at.session.log.length - 1)
    await at.ctx.fiber.dispose()
    const { ctx } = await startHost(base)
    const fresh = await (await open(ctx, 'resume')).reset({ reason: 'the next job' })
    const stored = await ctx.sessionPersistence.inspect('one', { as: fresh })
    expect([fresh.sensitivity, ctx.continuity.labelOf(stored)]).toEqual(['public', 'secret'])
  })

  it('stands in the log before a flush is acknowledged, though more waits than one batch takes', async () => {
    const { session } = await raisedElsewhere()
    say(session, 'after the raise')
    const flushed = session.flush()
    for (let part = 0; part < 12; part++) say(session, 'x'.repeat(1_000_000))
    await flushed
    const raised = [...session.log].findLast(({ type }) => type === 'label/raised')
    expect(raised).toMatchObject({ data: { label: 'secret' } })
    expect(session.durableSeq).toBeGreaterThanOrEqual(raised!.seq)
  })

  it('that a session does not take keeps what it holds from being written', async () => {
    const { ctx, as, session } = await raisedElsewhere()
    say(session, 'after the raise')
    const refused = vi.spyOn(session, 'append').mockImplementation(() => {
      throw new SessionError('INVALID_EVENT', 'refused')
    })
    expect((await refusalOf(() => session.flush())).code).toBe('DENIED')
    expect(refused).toHaveBeenCalled()
    expect((await refusalOf(() => as.close())).code).toBe('DENIED')
    const next = await open(ctx, 'resume')
    const stored = await ctx.sessionPersistence.inspect('one', { as: next })
    expect([...stored.log].some(({ type }) => type === 'user/message')).toBe(false)
  })
})

describe('a session that has no room left', () => {
  it('takes a label all the same', async () => {
    const { ctx } = await startHost(base, {}, { pendingSizeBytesMax: 4_096, flushDelayMs: 1_000 })
    const as = await open(ctx, 'begin')
    const session = await create(ctx, as)
    const fill = (): void => {
      for (let part = 0; part < 100; part++) say(session, 'x'.repeat(100))
    }
    expect(fill).toThrow(expect.objectContaining({ code: 'BACK_PRESSURE' }))
    await as.raise('secret')
    expect(session.log.last).toMatchObject({ type: 'label/raised' })
    say(session, 'goes on')
  })
})

describe('a handle that is over', () => {
  it.each(['secret', 'no such label'])('raises nothing but itself: %s', async (label) => {
    const { ctx } = await startHost(base)
    const old = await open(ctx, 'begin')
    const as = await old.reset({ reason: 'the next job' })
    const session = await create(ctx, as)
    expect((await refusalOf(() => old.raise(label))).reason).toBe('closed')
    const others = [as.sensitivity, ctx.continuity.labelOf(session)]
    expect([old.sensitivity, ...others]).toEqual(['secret', 'public', 'public'])
    await as.update()
    expect(ctx.continuity.labelOf(await create(ctx, as, 'two'))).toBe('public')
  })

  /** A host where the next question for grants is answered when `go` is called. */
  const gated = async () => {
    let gate: Promise<void> | undefined
    let go = (): void => undefined
    const grants = async () => {
      const held = gate
      gate = undefined
      await held
      return { operations: allOperations }
    }
    const { ctx } = await startHost(base, { grants })
    const hold = async (work: () => Promise<unknown>): Promise<{ over: Promise<unknown> }> => {
      gate = new Promise((resolve) => (go = resolve))
      const over = refusalOf(work)
      await expect.poll(() => gate).toBeUndefined()
      return { over }
    }
    return { ctx, hold, go: () => go() }
  }

  it('of an older generation raises no session of a newer one, whenever it hears of it', async () => {
    const { ctx, hold, go } = await gated()
    const old = await open(ctx, 'begin')
    const { over } = await hold(() => old.raise('secret'))
    const { ctx: other } = await startHost(base)
    await (await open(other, 'resume')).reset({ reason: 'elsewhere' })
    const as = await open(ctx, 'resume')
    const session = await create(ctx, as)
    go()
    expect(await over).toMatchObject({ code: 'FENCED' })
    expect([old.sensitivity, ctx.continuity.labelOf(session)]).toEqual(['secret', 'public'])
    await as.update()
    expect(as.sensitivity).toBe('public')
  })

  it('of an older generation is no floor of a session of a newer one', async () => {
    const { ctx, hold, go } = await gated()
    const first = await open(ctx, 'begin')
    const second = await open(ctx, 'resume')
    await second.raise('secret')
    const { over } = await hold(() => second.raise('public'))
    const as = await first.reset({ reason: 'the next job' })
    const session = await create(ctx, as)
    expect(ctx.continuity.labelOf(session)).toBe('public')
    go()
    expect(await over).toMatchObject({ code: 'FENCED' })
    expect(ctx.continuity.labelOf(session)).toBe('public')
  })
})
