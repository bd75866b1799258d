import { isSession, type AnySessionEvent, type Session } from '@tidemark/session-core'
import type { Context } from 'cordis'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { load, reported, startHost } from './host.ts'
import { codeOf } from './refusal.ts'
import { speaker } from './speaker.ts'

let ctx: Context

beforeEach(async () => {
  ctx = await startHost()
})

const settled = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 5))

/** What a listener hears, as `type@seq`. */
function heard(): string[] {
  const all: string[] = []
  ctx.on('tidemark/event', (_session, event) => void all.push(`${event.type}@${event.seq}`))
  return all
}

describe('tidemark/event', () => {
  it('is told after the event is in the log, once, with the very event', () => {
    const session = ctx.sessions.create()
    const told: [Session, AnySessionEvent, boolean][] = []
    ctx.on('tidemark/event', (of, event) => void told.push([of, event, of.log.at(event.seq) === event]))
    const event = session.append('turn/start', {})
    expect(told).toEqual([[session, event, true]])
    expect(told[0]?.[1]).toBe(event)
  })

  it('is not told of what is refused', () => {
    const all = heard()
    const session = ctx.sessions.create()
    expect(codeOf(() => session.append('step/end', {}))).toBe('NOT_OPEN')
    expect(all).toEqual([])
  })

  it('is not told of the boundary, nor of what was inherited', () => {
    const all = heard()
    const session = ctx.sessions.create({ seed: [{ seq: 0, time: 0, type: 'turn/start', data: {} }] })
    ctx.sessions.fork(session)
    expect(session.log.length).toBe(2)
    expect(all).toEqual([])
    session.append('turn/start', {})
    expect(all).toEqual(['turn/start@2'])
  })

  it('comes in order to every listener, also of what a listener appends', () => {
    const first = heard()
    ctx.on('tidemark/event', (session, event) => {
      if (event.type === 'turn/start') speaker(session).step()
      if (event.type === 'step/start') speaker(session).said('a')
    })
    const last = heard()
    const session = ctx.sessions.create()
    session.append('turn/start', {})
    session.append('turn/end', { reason: 'completed' })
    const expected = ['turn/start@0', 'step/start@1', 'assistant/message@2', 'turn/end@3']
    expect([first, last]).toEqual([expected, expected])
  })

  it('keeps the order across sessions', () => {
    const all: string[] = []
    const [a, b] = [ctx.sessions.create({ id: 'a' }), ctx.sessions.create({ id: 'b' })]
    ctx.on('tidemark/event', (session) => {
      if (session === a) speaker(b).user('from a')
    })
    ctx.on('tidemark/event', ({ id }, { seq }) => void all.push(`${id}${seq}`))
    speaker(a).user('1')
    speaker(a).user('2')
    expect(all).toEqual(['a0', 'b0', 'a1', 'b1'])
  })

  it('reaches the other listeners when one throws or rejects, and the append does not notice', async () => {
    const unhandled = vi.fn()
    process.on('unhandledRejection', unhandled)
    ctx.on('tidemark/event', () => {
      throw new Error('throws')
    })
    const rejecting = { listen: (): unknown => Promise.reject(new Error('rejects')) }
    ctx.on('tidemark/event', rejecting.listen)
    const all = heard()
    const session = ctx.sessions.create()
    expect(session.append('turn/start', {}).seq).toBe(0)
    expect(session.append('turn/start', {}).seq).toBe(1)
    await settled()
    process.off('unhandledRejection', unhandled)
    expect(all).toEqual(['turn/start@0', 'turn/start@1'])
    expect(unhandled).not.toHaveBeenCalled()
    const messages = reported(ctx).map((error) => (error as Error).message)
    expect(messages.sort()).toEqual(['rejects', 'rejects', 'throws', 'throws'])
  })

  it('goes on after the host’s own log, or who watches its bus, has thrown', () => {
    ctx.logger.exporter({
      export: () => {
        throw new Error('log')
      },
    })
    ctx.on('internal/dispatch', (_mode, _name, [, event]: [unknown, AnySessionEvent?]) => {
      if (event?.seq === 0) throw new Error('watcher')
    })
    ctx.on('tidemark/event', () => {
      throw new Error('listener')
    })
    const all = heard()
    const session = ctx.sessions.create()
    expect(session.append('turn/start', {}).seq).toBe(0)
    expect(session.append('turn/start', {}).seq).toBe(1)
    expect(all).toEqual(['turn/start@1'])
  })

  it('has a bound on what listeners append and create without end', () => {
    const session = ctx.sessions.create()
    const codes: string[] = []
    ctx.on('tidemark/event', (of) => {
      const code = safely(() => speaker(of).user('again'))
      if (code) codes.push(code, safely(() => ctx.sessions.create()) ?? 'created')
    })
    session.append('turn/start', {})
    expect(codes).toEqual(['BACK_PRESSURE', 'BACK_PRESSURE'])
    expect(session.log.length).toBe(10_001)
    expect(ctx.sessions.create().log.length).toBe(0)
  })

  it('stops coming to a plugin that was unloaded', async () => {
    const all: string[] = []
    const fiber = await load(ctx, (guest) => void guest.on('tidemark/event', ({ id }) => void all.push(id)))
    const session = ctx.sessions.create({ id: 'a' })
    session.append('turn/start', {})
    await fiber.dispose()
    session.append('turn/start', {})
    expect(all).toEqual(['a'])
  })
})

function safely(call: () => unknown): string | undefined {
  try {
    call()
    return undefined
  } catch (error) {
    return (error as { code?: string }).code
  }
}

describe('tidemark/created and tidemark/disposed', () => {
  it('come in pairs, with the session, whatever the listeners do', async () => {
    const told: string[] = []
    ctx.on('tidemark/created', (session) => {
      told.push(`+${session.id}`)
      throw new Error('listener')
    })
    ctx.on('tidemark/disposed', ({ id }) => void told.push(`-${id}`))
    const a = ctx.sessions.create({ id: 'a' })
    const b = ctx.sessions.fork(a, { id: 'b' })
    await ctx.sessions.dispose(a)
    await ctx.sessions.dispose(a)
    await ctx.sessions.dispose(b)
    expect(told).toEqual(['+a', '+b', '-a', '-b'])
  })

  it('are not told of a session that was refused', () => {
    const told = vi.fn()
    ctx.on('tidemark/created', told)
    ctx.on('tidemark/disposed', told)
    ctx.sessions.create({ id: 'a' })
    const seed = [{ seq: 1, time: 0, type: 'turn/start', data: {} }]
    expect(codeOf(() => ctx.sessions.create({ id: 'a' }))).toBe('EXISTS')
    expect(codeOf(() => ctx.sessions.create({ seed }))).toBe('INVALID_SEED')
    expect(codeOf(() => ctx.sessions.create({ meta: { a: 1n } as never }))).toBe('INVALID_PAYLOAD')
    expect(told).toHaveBeenCalledTimes(1)
  })

  it('stand before and after all events of the session', async () => {
    const told: string[] = []
    ctx.on('tidemark/created', (session) => {
      speaker(session).turn()
      told.push('created')
    })
    ctx.on('tidemark/created', () => void told.push('created too'))
    ctx.on('tidemark/event', (_session, { type }) => void told.push(type))
    ctx.on('tidemark/disposed', (session) => {
      told.push('disposed')
      expect(codeOf(() => speaker(session).turn())).toBe('DISPOSED')
    })
    await ctx.sessions.dispose(ctx.sessions.create())
    expect(told).toEqual(['created', 'created too', 'turn/start', 'disposed'])
  })

  it('hand over a session that can be told from those of other plugins', () => {
    ctx.on('tidemark/created', (session) => void expect(isSession(session)).toBe(true))
    ctx.sessions.create()
    expect([undefined, null, 'a', {}, { id: 'a' }, () => 1].some(isSession)).toBe(false)
  })
})

describe('tidemark/durable', () => {
  it('is told by the storage, in order with the events', () => {
    const told: unknown[] = []
    const session = ctx.sessions.create()
    ctx.on('tidemark/event', (of, { seq }) => {
      told.push(`event ${seq}`)
      if (seq === 0) ctx.sessions.tellDurable(of, 0)
    })
    ctx.on('tidemark/durable', (_of, seq) => void told.push(`durable ${seq}`))
    session.append('turn/start', {})
    session.append('turn/start', {})
    expect(told).toEqual(['event 0', 'durable 0', 'event 1'])
  })
})

describe('isSession', () => {
  it('knows sessions of another copy of the package', async () => {
    vi.resetModules()
    const copy = await import('../../packages/session-core/src/session.ts')
    const session = ctx.sessions.create()
    expect(session).not.toBeInstanceOf(copy.Session)
    expect([copy.isSession(session), copy.isSession({})]).toEqual([true, false])
  })
})
