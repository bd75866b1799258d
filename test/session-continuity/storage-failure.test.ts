import { chmodSync, cpSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { policy, systemPort, type ContinuityPort } from './source.ts'
import {
  World,
  begin,
  credential,
  foldersOf,
  isNoticed,
  reached,
  reasonFor,
  refusalOf,
  resume,
  scope,
  type ProcessOptions,
} from './world.ts'

/** The world after its store was set back to before the raise. */
async function rolledBack(): Promise<World> {
  const world = new World()
  await (await begin(world.start())).close()
  const restore = world.backup()
  const handle = await resume(world.start())
  await handle.raise('secret')
  await handle.close()
  restore()
  return world
}

/** A port that refuses one kind of call, in paths with these words. */
function failing(call: keyof ContinuityPort, where: string, code = 'EIO'): ContinuityPort {
  return new Proxy(systemPort, {
    get: (target, key) => {
      const value: unknown = Reflect.get(target, key)
      if (key !== call || typeof value !== 'function') return value
      return async (path: string, ...rest: unknown[]) => {
        if (path.includes(where)) throw Object.assign(new Error(code), { code })
        return (value as (...all: unknown[]) => unknown).call(target, path, ...rest)
      }
    },
  })
}

describe('storage failure', () => {
  it('the configured store, available, opens', async () => {
    expect((await resume((await reached()).start())).sensitivity).toBe('secret')
  })

  it.each([
    ['the states cannot be listed', failing('readdir', 'state-')],
    ['the states cannot be opened', failing('open', 'state-', 'EACCES')],
    ['the witness cannot be read', failing('readdir', 'witness')],
    ['no audit can be written', failing('link', 'audit', 'ENOSPC')],
  ])('where %s nothing is opened, and the error says so', async (_, port) => {
    const world = await reached()
    const before = world.files('root')
    expect(await refusalOf(() => resume(world.start({ port })))).toMatchObject({
      code: 'STORAGE_FAILED',
      reason: 'unavailable',
    })
    expect(world.files('root')).toEqual(before)
    expect((await resume(world.start())).sensitivity).toBe('secret')
  })

  it('without names that the kernel frees no incarnation is begun', async () => {
    const world = await reached()
    const process = world.start()
    const { port } = (process.store as unknown as { options: { port: ContinuityPort } }).options
    Object.defineProperty(port.locks, 'hold', { value: async () => ({ kind: 'unsupported' }) })
    expect(await reasonFor(() => resume(process))).toBe('unavailable')
  })

  const refusesSubstitutes = async (options: ProcessOptions = {}): Promise<void> => {
    const world = await reached()
    const other = await reached({ label: 'public' })
    rmSync(world.root, { recursive: true })
    cpSync(other.root, world.root, { recursive: true })
    const process = world.start(options)
    const substituted = { code: 'CORRUPT', reason: 'other-store' }
    expect(await refusalOf(() => resume(process))).toMatchObject(substituted)
    expect(await refusalOf(() => begin(process, 'alice', 'new'))).toMatchObject(substituted)
    const recover = () => process.continuity.recover(scope, { credential: credential('alice'), reason: 'x' })
    expect(await refusalOf(recover)).toMatchObject(substituted)
  }

  it('the store of another deployment is refused as such, by recover too', () => refusesSubstitutes())

  it('without the comparison of stores the substitute is seen', async () => {
    const judgeStore: NonNullable<ProcessOptions['rules']>['judgeStore'] = ({ storeId }) =>
      storeId === undefined ? { kind: 'no', reason: 'lost-state' } : { kind: 'known', storeId }
    expect(await isNoticed(() => refusesSubstitutes({ rules: { judgeStore } }))).toBe(true)
  })

  const refusesRollback = async (options: ProcessOptions = {}): Promise<void> => {
    const world = await rolledBack()
    const process = world.start(options)
    const behind = { code: 'CORRUPT', reason: 'behind-witness' }
    expect(await refusalOf(() => resume(process))).toMatchObject(behind)
    expect(await refusalOf(() => begin(process))).toMatchObject(behind)
  }

  it('an old copy that was put back is refused as rolled back', () => refusesRollback())

  it('without the witness in the rule the rollback is seen', async () => {
    const ahead = (facts: policy.Facts): policy.Facts => ({
      ...facts,
      mark: facts.mark && { revision: 1, generation: 1, sensitivity: 'public' },
    })
    const judgeResume: typeof policy.judgeResume = (facts, terms) => policy.judgeResume(ahead(facts), terms)
    expect(await isNoticed(() => refusesRollback({ rules: { judgeResume } }))).toBe(true)
  })

  it('a recover goes on from a rolled-back store at what the witness knows', async () => {
    const world = await rolledBack()
    const recover = { credential: credential('alice'), reason: 'restored from backup' }
    const handle = await world.start().continuity.recover(scope, recover)
    expect(handle).toMatchObject({ sensitivity: 'secret', generation: 2 })
    await handle.close()
    expect((await resume(world.start())).sensitivity).toBe('secret')
  })

  it('a rollback that hides only a refresh is a rollback', async () => {
    const world = new World()
    const handle = await begin(world.start())
    const restore = world.backup()
    await (await handle.refresh({ credential: credential('alice', { authenticatedAt: 5_000 }) })).close()
    restore()
    expect(await reasonFor(() => resume(world.start()))).toBe('behind-witness')
  })

  it('what is ahead of the witness is a crash that was in time, and opens', async () => {
    const world = new World()
    const handle = await begin(world.start())
    const restore = world.backup('witness')
    await handle.raise('secret')
    restore()
    expect((await resume(world.start())).sensitivity).toBe('secret')
  })

  it('without its witness a known store is refused, until somebody recovers it', async () => {
    const world = await reached()
    rmSync(world.witness, { recursive: true })
    expect(await reasonFor(() => resume(world.start()))).toBe('no-witness')
    expect(await reasonFor(() => begin(world.start()))).toBe('no-witness')
    const recover = { credential: credential('alice'), reason: 'the witness is gone' }
    await (await world.start().continuity.recover(scope, recover)).close()
    expect((await resume(world.start())).sensitivity).toBe('secret')
  })

  it('a scope whose witness alone is missing is refused, and so is one whose witness is damaged', async () => {
    const world = await reached()
    const { witness } = foldersOf(world)
    writeFileSync(join(witness, '000099'), '{}', { mode: 0o600 })
    expect(await reasonFor(() => resume(world.start()))).toBe('damaged')
    rmSync(witness, { recursive: true })
    expect(await reasonFor(() => resume(world.start()))).toBe('no-witness')
    const recover = { credential: credential('alice'), reason: 'the witness is gone' }
    const handle = await world.start().continuity.recover(scope, recover)
    expect(handle).toMatchObject({ sensitivity: 'secret', generation: 2 })
  })

  it('a store whose witness lies inside its root, by whatever way, is refused', async () => {
    for (const where of ['inside', 'link', 'same']) {
      const world = new World()
      mkdirSync(join(world.root, 'inside'), { recursive: true })
      if (where === 'link') symlinkSync(join(world.root, 'inside'), join(world.base, 'witness'))
      const config = where === 'same' ? world.root : join(world.root, 'inside')
      Object.defineProperty(world, 'witness', { value: where === 'link' ? world.witness : config })
      expect(await reasonFor(() => begin(world.start()))).toBe('unavailable')
    }
  })

  it('what others can write to is not trusted', async () => {
    const world = await reached()
    const { state } = foldersOf(world)
    chmodSync(state, 0o777)
    expect(await reasonFor(() => resume(world.start()))).toBe('unavailable')
    chmodSync(state, 0o700)
    chmodSync(join(state, '000002'), 0o666)
    expect(await reasonFor(() => resume(world.start()))).toBe('unavailable')
  })

  it.each([
    ['a zero file', ''],
    ['28 KB of zeros', '\0'.repeat(28_672)],
    ['half a file', '{"cell":{"format":1,"sto'],
    ['another version', '{"cell":{"format":2,"store":null,"name":"","number":9,"value":{}},"sum":"00"}\n'],
  ])('%s in the place of the newest state is damage, and never the older one', async (_, text) => {
    const world = await reached()
    writeFileSync(join(foldersOf(world).state, '000009'), text, { mode: 0o600 })
    expect(await refusalOf(() => resume(world.start()))).toMatchObject({ code: 'CORRUPT', reason: 'damaged' })
    const recover = { credential: credential('alice'), reason: 'damaged' }
    expect((await world.start().continuity.recover(scope, recover)).sensitivity).toBe('secret')
  })

  it('a raise whose write fails holds in memory, closes the handle, and leaves an orphan', async () => {
    const world = await reached({ label: 'internal' })
    const flaky = { fails: false }
    const port = new Proxy(systemPort, {
      get: (target, key) =>
        key === 'link' && flaky.fails
          ? async () => Promise.reject(Object.assign(new Error('EIO'), { code: 'EIO' }))
          : (Reflect.get(target, key) as unknown),
    })
    const process = world.start({ port })
    const handle = await resume(process)
    flaky.fails = true
    expect(await reasonFor(() => handle.raise('confidential'))).toBe('unavailable')
    expect(handle).toMatchObject({ sensitivity: 'confidential', isOpen: false })
    flaky.fails = false
    const next = await resume(process)
    expect(next.sensitivity).toBe('internal')
    const orphans = await process.continuity.orphans({ as: next })
    expect(orphans.map(({ incarnation }) => incarnation)).toEqual([handle.incarnation])
  })

  it('a raise that finds no place among the calls that wait holds in memory, and ends the handle', async () => {
    const handle = await begin(new World().start())
    const waiting = Array.from({ length: 1_024 }, () => handle.update())
    const refused = refusalOf(() => handle.raise('secret'))
    const answers = await Promise.allSettled(waiting)
    expect(await refused).toMatchObject({ code: 'BACK_PRESSURE', reason: 'too-many' })
    expect(handle).toMatchObject({ sensitivity: 'secret', isOpen: false })
    expect(answers.some(({ status }) => status === 'rejected')).toBe(true)
  })

  it('a raise to a label that nobody knows holds the highest in memory', async () => {
    const handle = await begin(new World().start())
    expect(await refusalOf(() => handle.raise('cosmic'))).toMatchObject({ reason: 'unknown-label' })
    expect(handle).toMatchObject({ sensitivity: 'secret', isOpen: false })
  })

  it('a state with a label that the configuration no longer names is refused, by recover too', async () => {
    const world = await reached()
    const process = world.start({ config: { labels: ['public', 'internal'] } })
    expect(await refusalOf(() => resume(process))).toMatchObject({
      code: 'UNSUPPORTED_FORMAT',
      reason: 'unknown-label',
    })
    const recover = () => process.continuity.recover(scope, { credential: credential('alice'), reason: 'x' })
    expect(await reasonFor(recover)).toBe('unknown-label')
  })
})
