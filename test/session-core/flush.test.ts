import type { Session } from '@tidemark/session-core'
import type { Context } from 'cordis'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { load, reported, startHost } from './host.ts'
import { FakeRecorder } from './recorder.ts'
import { speaker } from './speaker.ts'

let ctx: Context

beforeEach(async () => {
  ctx = await startHost()
})

describe('a session without a writer', () => {
  it('says that it is memory only, and that nothing of it is safe', async () => {
    const session = ctx.sessions.create()
    speaker(session).turn()
    expect([session.kind, session.durableSeq]).toEqual(['memory', -1])
    expect(await ctx.sessions.flush(session)).toEqual({ kind: 'memory', durableSeq: -1 })
    expect(await session.flush()).toEqual({ kind: 'memory', durableSeq: -1 })
  })

  it('stays memory only in a fork of a stored one', async () => {
    const parent = ctx.sessions.create({ recorder: new FakeRecorder() })
    speaker(parent).turn()
    const child = ctx.sessions.fork(parent)
    expect((await ctx.sessions.flush(child)).kind).toBe('memory')
    expect((await ctx.sessions.flush(parent)).kind).toBe('stored')
  })
})

describe('a flush', () => {
  let recorder: FakeRecorder
  let session: Session

  beforeEach(() => {
    recorder = new FakeRecorder()
    session = ctx.sessions.create({ recorder })
  })

  it('resolves with how far the log is safe', async () => {
    speaker(session).turn()
    speaker(session).step()
    expect(await ctx.sessions.flush(session)).toEqual({ kind: 'stored', durableSeq: 1 })
    expect(session.durableSeq).toBe(1)
  })

  it('names the content that is safe, where the writer can', async () => {
    expect(await session.flush()).not.toHaveProperty('digest')
    recorder.digest = 'd'
    expect(await ctx.sessions.flush(session)).toEqual({ kind: 'stored', durableSeq: -1, digest: 'd' })
  })

  it('goes to the writer that the session was bound to, whoever listens', async () => {
    const other = new FakeRecorder()
    ctx.sessions.create({ recorder: other })
    await ctx.sessions.flush(session)
    expect([recorder.diary, other.diary]).toEqual([['flush'], []])
  })

  it('rejects with the writer’s own cause', async () => {
    const cause = new Error('gone')
    recorder.failWith = cause
    await expect(ctx.sessions.flush(session)).rejects.toBe(cause)
    await expect(session.flush()).rejects.toBe(cause)
  })

  it('asks the bus at once, and waits for who listens', async () => {
    const told: string[] = []
    ctx.on('tidemark/flush', async (of) => {
      expect(of).toBe(session)
      told.push('asked')
      await new Promise((resolve) => setTimeout(resolve, 10))
      told.push('answered')
    })
    const done = ctx.sessions.flush(session)
    expect(told).toEqual(['asked'])
    await done
    expect(told).toEqual(['asked', 'answered'])
  })

  it('does not fail because a listener does', async () => {
    ctx.on('tidemark/flush', async () => Promise.reject(new Error('listener')))
    ctx.on('tidemark/flush', () => {
      throw new Error('listener too')
    })
    expect(await ctx.sessions.flush(session)).toEqual({ kind: 'stored', durableSeq: -1 })
    expect(reported(ctx)).toHaveLength(2)
  })

  it('does not wait for ever for a listener that gives no answer', async () => {
    vi.useFakeTimers()
    ctx.on('tidemark/flush', () => new Promise<void>(() => undefined))
    const done = vi.fn()
    void ctx.sessions.flush(session).then(done)
    await vi.advanceTimersByTimeAsync(9_999)
    expect(done).not.toHaveBeenCalled()
    await vi.advanceTimersByTimeAsync(1)
    vi.useRealTimers()
    await new Promise((resolve) => setTimeout(resolve, 0))
    expect(done).toHaveBeenCalledWith({ kind: 'stored', durableSeq: -1 })
  })

  it('by a plugin that is being unloaded still reaches the writer', async () => {
    const fiber = await load(ctx, (guest) => {
      guest.effect(() => async () => void (await guest.sessions.flush(session)))
    })
    speaker(session).turn()
    await fiber.dispose()
    expect([recorder.diary, session.durableSeq]).toEqual([['flush'], 0])
  })
})

describe('the writer of a session', () => {
  it('gets every event of its own, the boundary first, and none that was inherited', () => {
    const recorder = new FakeRecorder()
    const seed = [{ seq: 0, time: 0, type: 'turn/start', data: {} }]
    const session = ctx.sessions.create({ seed, recorder })
    const event = session.append('turn/start', {})
    expect(recorder.admitted.map(({ seq, type }) => [seq, type])).toEqual([
      [1, 'session/resumed'],
      [2, 'turn/start'],
    ])
    expect(recorder.admitted[1]).toBe(event)
    expect(recorder.admitted[0]).toBe(session.log.at(1))
    expect(recorder.diary).toEqual([])
  })

  it('gets nothing when an untouched session is opened again', () => {
    const recorder = new FakeRecorder()
    const seed = [{ seq: 0, time: 0, type: 'session/resumed', data: {} }]
    ctx.sessions.create({ seed, recorder })
    expect([recorder.admitted, recorder.diary]).toEqual([[], []])
  })

  it('is not asked about what is refused before it', () => {
    const recorder = new FakeRecorder()
    const session = ctx.sessions.create({ recorder })
    expect(() => speaker(session).endTurn()).toThrow()
    expect(recorder.admitted).toEqual([])
  })

  it('that refuses the boundary refuses the session', () => {
    const recorder = new FakeRecorder()
    recorder.refuseWith = new Error('full')
    expect(() => ctx.sessions.create({ id: 'a', seed: [], recorder })).toThrow('full')
    expect(ctx.sessions.find('a')).toBeUndefined()
  })
})

it('a flush inside a listener of the flush is not told again, and both say how far the log is safe', async () => {
  let told = 0
  ctx.on('tidemark/flush', async (session) => {
    told += 1
    await ctx.sessions.flush(session)
  })
  const session = ctx.sessions.create({ recorder: new FakeRecorder() })
  speaker(session).turn()
  expect(await ctx.sessions.flush(session)).toEqual({ kind: 'stored', durableSeq: session.log.length - 1 })
  expect(told).toBe(1)
  await ctx.sessions.flush(session)
  expect(told).toBe(2)
})
