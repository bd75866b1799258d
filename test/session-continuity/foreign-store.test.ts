import * as continuity from '@tidemark/session-continuity'
import type { AuditShelf, Cell } from '@tidemark/session-continuity'
import type {} from '@tidemark/session-continuity/cordis'
import { storeContract } from '@tidemark/session-continuity/testkit'
import { join } from 'node:path'
import { Context, type Fiber } from 'cordis'
import * as fork from '@deepseek-ai/cordis'
import * as vitest from 'vitest'
import { afterEach, describe, expect, it } from 'vitest'
import { Memory, type MemoryStore } from './memory-store.ts'
import { scratch } from './scratch.ts'
import { Config, fileStoreOf } from './source.ts'
import { credential, everything, refusalOf, trusting } from './world.ts'

storeContract(vitest, 'a store in files', () => {
  const base = scratch()
  const settings = Config.parse({ root: join(base, 'root'), witness: join(base, 'witness') })
  return { open: () => fileStoreOf(settings)! }
})

storeContract(vitest, 'a store in memory', () => new Memory())

/** The facts that a store does not keep. */
async function brokenBy(change: (store: MemoryStore) => void): Promise<string[]> {
  const facts: [string, () => Promise<void>][] = []
  const runner = {
    describe: (_: string, register: () => void) => register(),
    it: (title: string, fact: () => Promise<void>) => void facts.push([title, fact]),
    expect,
  }
  const makePlace = () => {
    const memory = new Memory()
    const open = (): MemoryStore => {
      const store = memory.open()
      change(store)
      return store
    }
    return { open }
  }
  storeContract(runner as unknown as typeof vitest, 'a broken store', makePlace)
  const broken: string[] = []
  for (const [title, fact] of facts) await fact().catch(() => broken.push(title))
  return broken
}

describe('the contract notices a store', () => {
  const eachCell = (store: MemoryStore, change: (cell: Cell) => Partial<Cell>): void => {
    const { state, witness } = store
    store.state = (place) => Object.assign({}, state.call(store, place), change(state.call(store, place)))
    store.witness = (place) =>
      Object.assign({}, witness.call(store, place), change(witness.call(store, place)))
  }
  const eachShelf = (store: MemoryStore, change: (shelf: AuditShelf) => Partial<AuditShelf>): void => {
    const { audit } = store
    store.audit = (place) => ({ ...audit.call(store, place), ...change(audit.call(store, place)) })
  }

  it.each<[string, (store: MemoryStore) => void]>([
    [
      'that replaces whatever was expected',
      (store) =>
        eachCell(store, (cell) => ({
          replace: async (value, terms) =>
            cell.replace(value, { ...terms, expected: (await cell.read()).number }),
        })),
    ],
    [
      'that skips no number',
      (store) =>
        eachCell(store, (cell) => ({
          replace: (value, { expected }) => cell.replace(value, { expected }),
        })),
    ],
    ['that forgets what it kept', (store) => eachCell(store, () => ({ provable: async () => [] }))],
    [
      'that folds case in scopes',
      (store) => {
        const { audit } = store
        store.audit = (place) => audit.call(store, { ...place, scope: place.scope.toLowerCase() })
      },
    ],
    [
      'that gives a number twice',
      (store) =>
        eachShelf(store, (shelf) => ({
          create: async (number, line) =>
            (await shelf.create(number, line)) ?? { append: async () => {}, close: async () => {} },
        })),
    ],
    [
      'that has one state for all principals of a scope',
      (store) => {
        const { state } = store
        store.state = (place) => state.call(store, { ...place, key: 'one for all' })
      },
    ],
    [
      'that has one state for the principals of a scope whose keys begin alike',
      (store) => {
        const { state } = store
        store.state = (place) => state.call(store, { ...place, key: place.key.slice(0, 60) })
      },
    ],
    [
      'that takes no id',
      (store) => {
        const { establish } = store
        store.establish = () => establish.call(store, undefined)
      },
    ],
    [
      'that takes the id of whoever asks last',
      (store) => {
        const { establish, identify } = store
        let last: string | undefined
        store.establish = async (storeId) =>
          (last = storeId ?? last ?? (await establish.call(store, storeId)))
        store.identify = async () => {
          const found = await identify.call(store)
          return last === undefined ? found : { ...found, storeId: last, witnessedId: last }
        }
      },
    ],
    ['that holds no name', (store) => eachShelf(store, () => ({ isHeld: async () => false }))],
    [
      'that lists chains as text',
      (store) =>
        eachShelf(store, (shelf) => ({
          numbers: async () => [...(await shelf.numbers())].sort((a, b) => (`${a}` < `${b}` ? -1 : 1)),
        })),
    ],
  ])('%s', async (_, change) => {
    expect(await brokenBy(change)).not.toEqual([])
  })

  it('and no other', async () => {
    expect(await brokenBy(() => {})).toEqual([])
  })
})

const fibers: Fiber[] = []
afterEach(async () => {
  for (const fiber of fibers.splice(0).reverse()) await fiber.dispose()
})

const config: continuity.Config = { authenticators: [trusting], grants: everything }

const open = (mode: 'begin' | 'resume') => ({ mode, credential: credential('alice'), scope: 's' }) as const

interface Running {
  readonly ctx: Context
  readonly store: MemoryStore
  readonly provider: Fiber
}

async function start(memory: Memory): Promise<Running> {
  const ctx = new Context()
  const store = memory.open()
  fibers.push(await ctx.plugin(continuity, config))
  const apply = (inner: Context): void => void inner.effect(() => inner.provide('continuityStore', store))
  const provider = await ctx.plugin({ name: 'store', apply })
  fibers.push(provider)
  await expect.poll(() => ctx.get('continuity')).toBeDefined()
  return { ctx, store, provider }
}

describe('a store of somebody else', () => {
  it('G45: is used in place of files, over a restart, and is not closed by who borrowed it', async () => {
    const memory = new Memory()
    const first = await start(memory)
    const handle = await first.ctx.continuity.open(open('begin'))
    await handle.raise('secret')
    await handle.audit({ action: 'deploy' })
    await first.provider.dispose()
    expect(handle.isOpen).toBe(false)
    expect(first.store.isClosed).toBe(false)
    const { ctx } = await start(memory)
    const resumed = await ctx.continuity.open(open('resume'))
    expect(resumed.sensitivity).toBe('secret')
    expect(await ctx.continuity.orphans({ as: resumed })).toEqual([])
    expect(await ctx.continuity.verify('s', { credential: credential('alice') })).toMatchObject({
      isSound: true,
    })
  })

  it('is what continuity waits for where no files are configured, and is gone with', async () => {
    const ctx = new Context()
    fibers.push(await ctx.plugin(continuity, config))
    expect(ctx.get('continuity')).toBeUndefined()
    const { ctx: other, provider } = await start(new Memory())
    expect((await other.continuity.open(open('begin'))).isOpen).toBe(true)
    await provider.dispose()
    expect(other.get('continuity')).toBeUndefined()
  })

  it('shows who died in it, and its refusals are counted and kept', async () => {
    const memory = new Memory()
    const first = await start(memory)
    await first.ctx.continuity.open(open('begin'))
    first.store.die()
    const { ctx } = await start(memory)
    const resumed = await ctx.continuity.open(open('resume'))
    expect((await ctx.continuity.orphans({ as: resumed })).length).toBe(1)
    expect((await refusalOf(() => ctx.continuity.open(open('begin')))).reason).toBe('known-scope')
    await expect.poll(() => memory.refused.length).toBe(1)
  })

  it('that does not answer is unavailable: nothing is opened, and a raise ends the handle', async () => {
    const memory = new Memory()
    const { ctx } = await start(memory)
    const handle = await ctx.continuity.open(open('begin'))
    memory.isBroken = true
    expect(await refusalOf(() => handle.raise('secret'))).toMatchObject({
      code: 'STORAGE_FAILED',
      reason: 'unavailable',
    })
    expect(handle).toMatchObject({ isOpen: false, sensitivity: 'secret' })
    expect((await refusalOf(() => ctx.continuity.open(open('resume')))).reason).toBe('unavailable')
    memory.isBroken = false
    expect((await ctx.continuity.open(open('resume'))).isOpen).toBe(true)
  })

  it('serves the fork of cordis, too', async () => {
    const ctx = new fork.Context()
    const store = new Memory().open()
    const apply = (inner: fork.Context): void =>
      void inner.effect(() => (inner as unknown as Context).provide('continuityStore', store))
    await ctx.plugin({ name: 'store', apply } as never, {} as never)
    await ctx.plugin(continuity as never, config as never)
    await expect.poll(() => ctx.get('continuity' as never)).toBeDefined()
    const service = ctx.get('continuity' as never) as unknown as continuity.Continuity
    expect((await service.open(open('begin'))).isOpen).toBe(true)
    await service.close()
  })

  it.each([{ root: 'a' }, { witness: 'b' }])('half a configuration of files is refused: %s', (half) => {
    expect(Config.safeParse({ ...config, ...half }).success).toBe(false)
  })
})
