import type { Session, SessionError } from '@tidemark/session-core'
import type { Context } from 'cordis'
import * as core from '@tidemark/session-core'
import { beforeEach, describe, expect, it } from 'vitest'
import { load, reported, startHost } from './host.ts'
import { FakeRecorder } from './recorder.ts'
import { codeOf } from './refusal.ts'
import { speaker } from './speaker.ts'

let ctx: Context
let diary: string[]

beforeEach(async () => {
  ctx = await startHost()
  diary = []
  ctx.on('tidemark/disposed', ({ id }) => void diary.push(`disposed ${id}`))
})

const recorder = (id: string): FakeRecorder => new FakeRecorder((what) => diary.push(`${what} ${id}`))

describe('a session', () => {
  it('G5: ends with the plugin that created it: flushed, disposed, its writer closed, in that order', async () => {
    const writer = recorder('a')
    let session: Session | undefined
    const fiber = await load(ctx, (guest) => {
      session = guest.sessions.create({ id: 'a', recorder: writer })
    })
    speaker(session!).turn()
    await fiber.dispose()
    expect(diary).toEqual(['flush a', 'disposed a', 'close a'])
    expect(writer.durableSeq).toBe(0)
    expect(codeOf(() => speaker(session!).turn())).toBe('DISPOSED')
    expect([...ctx.sessions]).toEqual([])
    expect(session?.messages()).toEqual([])
  })

  it('is over from the moment its plugin goes, and its id is free when it is', async () => {
    const writer = recorder('a')
    let release = (): void => undefined
    writer.held = new Promise((resolve) => (release = resolve))
    let session: Session | undefined
    const fiber = await load(ctx, (guest) => {
      session = guest.sessions.create({ id: 'a', recorder: writer })
    })
    const gone = fiber.dispose()
    await new Promise((resolve) => setTimeout(resolve, 5))
    expect(codeOf(() => speaker(session!).turn())).toBe('DISPOSED')
    expect(codeOf(() => ctx.sessions.create({ id: 'a' }))).toBe('EXISTS')
    release()
    await gone
    expect(ctx.sessions.create({ id: 'a' }).log.length).toBe(0)
  })

  it('outlives a plugin that did not create it, and a fork belongs to who forked', async () => {
    const own = ctx.sessions.create({ id: 'own' })
    let child: Session | undefined
    const fiber = await load(ctx, (guest) => {
      child = guest.sessions.fork(own, { id: 'child' })
    })
    await fiber.dispose()
    expect(diary).toEqual(['disposed child'])
    expect(speaker(own).turn()).toBe(0)
    expect(codeOf(() => speaker(child!).turn())).toBe('DISPOSED')
  })

  it('ends with core itself when nobody else ends it', async () => {
    const host = await startHost()
    const writer = recorder('root')
    const session = host.sessions.create({ id: 'root', recorder: writer })
    for (const fiber of host.registry.get(core)?.fibers ?? []) await fiber.dispose()
    expect(writer.diary).toEqual(['flush', 'close'])
    expect(codeOf(() => speaker(session).turn())).toBe('DISPOSED')
  })

  it('G5: lets its plugin go when the flush or the close fails, and says so', async () => {
    const writer = recorder('a')
    writer.failWith = new Error('disk')
    writer.close = async () => Promise.reject(new Error('lease'))
    const fiber = await load(ctx, (guest) => void guest.sessions.create({ id: 'a', recorder: writer }))
    await fiber.dispose()
    expect(diary).toEqual(['flush a', 'disposed a'])
    expect(reported(ctx)).toMatchObject([{ message: 'disk' }, { message: 'lease' }])
  })

  it('is ended once, however often and by however many', async () => {
    const writer = recorder('a')
    let session: Session | undefined
    const fiber = await load(ctx, (guest) => {
      session = guest.sessions.create({ id: 'a', recorder: writer })
    })
    await Promise.all([ctx.sessions.dispose(session!), fiber.dispose(), ctx.sessions.dispose(session!)])
    expect(diary).toEqual(['flush a', 'disposed a', 'close a'])
  })

  it('resolves its dispose only when all of that is done', async () => {
    const session = ctx.sessions.create({ id: 'a', recorder: recorder('a') })
    await Promise.all(
      [ctx.sessions.dispose(session), ctx.sessions.dispose(session)].map(async (done) => {
        await done
        expect(diary).toEqual(['flush a', 'disposed a', 'close a'])
      }),
    )
  })

  it('is not ended by the dispose of another one with its id', async () => {
    const first = ctx.sessions.create({ id: 'a' })
    await ctx.sessions.dispose(first)
    const second = ctx.sessions.create({ id: 'a' })
    await ctx.sessions.dispose(first)
    expect(ctx.sessions.find('a')).toBe(second)
    expect(speaker(second).turn()).toBe(0)
  })

  it('cannot be created by a plugin that has gone', async () => {
    let guest: Context | undefined
    const fiber = await load(ctx, (own) => void (guest = own))
    const { sessions } = guest!
    await fiber.dispose()
    expect(() => sessions.create({ id: 'a' })).toThrow()
    expect(ctx.sessions.find('a')).toBeUndefined()
  })
})

describe('an id', () => {
  it('names at most one living session', () => {
    const session = ctx.sessions.create({ id: 'a' })
    expect(codeOf(() => ctx.sessions.create({ id: 'a' }))).toBe('EXISTS')
    expect(codeOf(() => ctx.sessions.fork(session, { id: 'a' }))).toBe('EXISTS')
    expect([...ctx.sessions]).toEqual([session])
  })

  it.each(['__proto__', 'constructor', '../../etc', 'a\0b', '甲乙', ' ', 'x'.repeat(200)])(
    'may be any well-formed text: %j',
    (id) => {
      const session = ctx.sessions.create({ id })
      expect([session.id, ctx.sessions.find(id)]).toEqual([id, session])
    },
  )

  it.each(['', 'x'.repeat(201), 'a\ud800', 5, null, {}])('is refused where it is not: %j', (id) => {
    const refused = (): unknown => ctx.sessions.create({ header: { id: id as string, createdAt: 0 } })
    expect(codeOf(refused)).toBe('INVALID_ID')
  })

  it('is random where none is given', () => {
    expect(ctx.sessions.create().id).not.toBe(ctx.sessions.create().id)
  })
})

describe('a header', () => {
  it('is deeply frozen and holds the host’s own meta', () => {
    const { header } = ctx.sessions.create({ id: 'a', meta: { deep: [{ a: 1 }] } })
    expect(header).toEqual({ id: 'a', createdAt: expect.any(Number) as number, meta: { deep: [{ a: 1 }] } })
    expect(Object.isFrozen((header.meta as { deep: object[] }).deep[0])).toBe(true)
  })

  it('takes no meta that JSON text would not give back', () => {
    for (const value of [1n, undefined, new Date(0), NaN]) {
      const meta = { value } as never
      expect(codeOf(() => ctx.sessions.create({ meta }))).toBe('INVALID_PAYLOAD')
      expect(codeOf(() => ctx.sessions.create({ header: { id: 'a', createdAt: 0, meta } }))).toBe(
        'INVALID_PAYLOAD',
      )
    }
    expect([...ctx.sessions]).toEqual([])
  })
})

describe('an error', () => {
  it('is known across copies of the package by its mark, and holds no content', () => {
    const session = ctx.sessions.create({ id: 'a' })
    let caught: unknown
    try {
      session.append('user/message', { parts: 'hunter2' } as never)
    } catch (error) {
      caught = error
    }
    expect(core.isSessionError(caught)).toBe(true)
    expect(Object.isFrozen((caught as SessionError).details)).toBe(true)
    expect(JSON.stringify(caught) + (caught as Error).message).not.toContain('hunter2')
    expect([new Error('a'), { code: 'EXISTS' }, null].some(core.isSessionError)).toBe(false)
  })
})
