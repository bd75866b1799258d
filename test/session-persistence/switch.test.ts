import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { Config } from '@tidemark/session-persistence'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { decideSwitch } from '../../packages/session-persistence/src/switch.ts'
import { readStored } from './files.ts'
import { load, say, start, startJournal } from './host.ts'
import { codeOf } from './refusal.ts'
import { scratch } from './scratch.ts'

afterEach(() => vi.unstubAllEnvs())

describe('the switch', () => {
  it.each([
    [undefined, undefined, { kind: 'off' }],
    [undefined, '', { kind: 'off' }],
    [undefined, '0', { kind: 'off' }],
    [undefined, 'true', { kind: 'off' }],
    [undefined, '1', { kind: 'on', by: 'env' }],
    [false, '1', { kind: 'off' }],
    [true, '0', { kind: 'on', by: 'config' }],
    [true, '1', { kind: 'on', by: 'config' }],
  ])('enabled %s and variable %j: %j', (enabled, variable, expected) => {
    expect(decideSwitch(enabled, variable)).toEqual(expected)
  })

  it('G31: off, it touches no file, and says what it cannot do', async () => {
    const root = join(scratch(), 'root')
    const { ctx } = await start({ root })
    const { sessionPersistence: persistence } = ctx
    expect(persistence.state).toEqual({ kind: 'off' })
    const session = await persistence.create({ id: 'a', meta: { x: 1 } })
    say(session, 'hello')
    expect(await ctx.sessions.flush(session)).toEqual({ kind: 'memory', durableSeq: -1 })
    const fork = await persistence.fork(session, { id: 'b' })
    expect(fork.kind).toBe('memory')
    expect((await persistence.fork('a', { id: 'c', through: 0 })).header.parent).toEqual({ id: 'a', seq: 0 })
    const asked = [
      () => persistence.resume('a'),
      () => persistence.fork('elsewhere'),
      () => persistence.inspect('a'),
      () => persistence.list(),
      () => persistence.verify('a'),
      () => persistence.repair('a', { acceptLossAfter: 0 }),
      () => persistence.salvage('a'),
    ]
    for (const ask of asked) expect(await codeOf(ask)).toBe('DISABLED')
    await ctx.sessions.dispose(session)
    expect(readdirSync(join(root, '..'))).toEqual([])
    expect(ctx.get('sessionStorage')).toBe(undefined)
  })

  it('on, but unused, it touches no file', async () => {
    const root = join(scratch(), 'root')
    const ctx = await startJournal(root)
    expect(await ctx.sessionPersistence.list()).toEqual({ sessions: [] })
    expect(await codeOf(() => ctx.sessionPersistence.resume('a'))).toBe('NOT_FOUND')
    expect(await codeOf(() => ctx.sessionPersistence.inspect('a'))).toBe('NOT_FOUND')
    expect(await codeOf(() => ctx.sessionPersistence.fork('a'))).toBe('NOT_FOUND')
    expect(readdirSync(join(root, '..'))).toEqual([])
  })

  it.each(['config', 'env'] as const)(
    'G31: what switched it on (%s) is written with each claim',
    async (by) => {
      const root = join(scratch(), 'root')
      vi.stubEnv('TIDEMARK_SHARED_RUNTIME', by === 'env' ? '1' : undefined)
      const { ctx } = await start({ root, ...(by === 'config' && { enabled: true }) })
      expect(ctx.sessionPersistence.state).toEqual({ kind: 'on', by })
      await ctx.sessions.dispose(await ctx.sessionPersistence.create({ id: 'a' }))
      await ctx.sessionPersistence.resume('a')
      const writers = (await readStored(root, 'a')).map(({ writer }) => writer.enabledBy)
      expect(writers).toEqual([by, by])
    },
  )

  it('on without a root, it waits for the storage of another plugin', async () => {
    const { ctx } = await start({ enabled: true })
    expect(ctx.get('sessionPersistence')).toBe(undefined)
    const memory = await import('@tidemark/session-persistence/memory')
    const fiber = await ctx.plugin(memory)
    await load(ctx, ['sessionPersistence'], async (guest) => {
      const session = await guest.sessionPersistence.create({ id: 'a' })
      say(session, 'hello')
      expect(await ctx.sessions.flush(session)).toMatchObject({ kind: 'stored', durableSeq: 0 })
    })
    await fiber.dispose()
    expect(ctx.get('sessionPersistence')).toBe(undefined)
    expect(ctx.sessions.find('a')).toBe(undefined)
  })
})

describe('the configuration', () => {
  it('has every default, and refuses what it does not know', () => {
    const defaults = {
      flushDelayMs: 200,
      pendingSizeBytesMax: 67_108_864,
      durability: 'lazy',
      segmentSizeBytesMax: 16_777_216,
      compress: true,
      allowNetworkFs: false,
      authorize: 'off',
      snapshotEvents: 20_000,
      snapshotSizeBytes: 4_194_304,
      retainEvents: 10_000,
      retainSizeBytes: 16_777_216,
    }
    expect(Config.parse(undefined)).toEqual(defaults)
    expect(Config.parse({})).toEqual(defaults)
    for (const wrong of [
      { root: '' },
      { flushDelayMs: -1 },
      { flushDelayMs: 1_001 },
      { flushDelayMs: 1.5 },
      { durability: 'strictly' },
      { allowNetworkFs: 1 },
      { other: 1 },
    ]) {
      expect(Config.safeParse(wrong).success).toBe(false)
    }
    for (const right of [
      { flushDelayMs: 0 },
      { flushDelayMs: 1_000 },
      { pendingSizeBytesMax: 1 },
      { durability: 'strict' },
      { allowNetworkFs: true },
    ]) {
      expect(Config.safeParse(right).success).toBe(true)
    }
  })
})
