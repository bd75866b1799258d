import { describe, expect, it } from 'vitest'
import { policy } from './source.ts'
import {
  World,
  begin,
  credential,
  isNoticed,
  linesOf,
  reasonFor,
  refusalOf,
  resume,
  scope,
  type ProcessOptions,
} from './world.ts'

describe('reset', () => {
  it('an explicit reset bumps the generation, gives a fresh incarnation, and starts from the declared floor', async () => {
    const world = new World()
    const process = world.start({ config: { floor: 'internal' } })
    const handle = await begin(process)
    expect(handle.sensitivity).toBe('internal')
    await handle.raise('secret')
    const before = linesOf(world, 1)
    const fresh = await handle.reset({ reason: 'a new project' })
    expect(fresh).toMatchObject({ generation: 2, sensitivity: 'internal', isOpen: true })
    expect(fresh.incarnation).not.toBe(handle.incarnation)
    // The chain before the reset is kept, and ends cleanly.
    expect(linesOf(world, 1).slice(0, before.length)).toEqual(before)
    expect(linesOf(world, 1).at(-1)).toContain('continuity/close')
    const opening = JSON.parse(linesOf(world, 2)[0]!) as { entry: object }
    expect(opening.entry).toMatchObject({
      action: 'continuity/reset',
      detail: { reason: 'a new project', after: handle.incarnation },
    })
    await fresh.raise('confidential')
    const verified = await process.continuity.verify(scope, {
      credential: credential('alice', { authenticatedAt: 10_001 }),
    })
    expect(verified.isSound).toBe(true)
  })

  const killsTheOld = async (options: ProcessOptions = {}): Promise<void> => {
    const world = new World()
    const process = world.start(options)
    const handle = await begin(process)
    const other = await resume(process)
    await (await handle.reset({ reason: 'leaked' })).close()
    expect(await reasonFor(() => handle.audit({ action: 'late' }))).toBe('closed')
    expect(await refusalOf(() => other.audit({ action: 'late' }))).toMatchObject({
      code: 'FENCED',
      reason: 'stale-generation',
    })
    // Also one that was issued before the reset and never shown.
    for (const authenticatedAt of [1_000, 9_000, 10_000])
      expect(await reasonFor(() => resume(process, 'alice', { authenticatedAt }))).toBe('stale-credential')
    expect((await resume(process, 'alice', { authenticatedAt: 10_001 })).generation).toBe(2)
  }

  it('G41: old handles and old credentials are dead', () => killsTheOld())

  it.each<[string, Partial<policy.PolicyState>]>([
    ['a new generation', { generation: 1 }],
    ['an end of the old credentials', { credentialsAfter: -1 }],
  ])('without %s what lives on is seen', async (_, kept) => {
    const judgeReset: typeof policy.judgeReset = (facts, terms) => {
      const verdict = policy.judgeReset(facts, terms)
      return verdict.kind === 'no'
        ? verdict
        : { kind: 'yes', state: { ...verdict.state, ...kept, sensitivity: 'secret' } }
    }
    expect(await isNoticed(() => killsTheOld({ rules: { judgeReset } }))).toBe(true)
  })

  it.each([Number.NaN, Infinity, -1, 20_000.5])(
    'a clock that tells %d leaves a state that can be resumed',
    async (told) => {
      const world = new World()
      const handle = await begin(world.start())
      world.time = told
      await (await handle.reset({ reason: 'a clock' })).close()
      world.time = 30_000
      expect(await reasonFor(() => resume(world.start()))).toBe('stale-credential')
      expect((await resume(world.start(), 'alice', { authenticatedAt: 20_001 + 1 })).generation).toBe(2)
    },
  )

  it('a clock that tells what no date is leaves a state that can be read', async () => {
    const world = new World()
    const handle = await begin(world.start())
    world.time = 1e300
    await (await handle.reset({ reason: 'a clock' })).close()
    world.time = 30_000
    expect(await reasonFor(() => resume(world.start()))).toBe('stale-credential')
  })

  it('needs its own grant; without it nothing changes', async () => {
    const world = new World()
    const process = world.start({ grants: () => ({ operations: ['begin', 'raise'] }) })
    const handle = await begin(process)
    await handle.raise('secret')
    const before = world.files('root')
    expect(await reasonFor(() => handle.reset({ reason: 'no' }))).toBe('no-grant')
    expect(world.files('root')).toEqual(before)
    expect(handle).toMatchObject({ isOpen: true, generation: 1 })
    expect(process.continuity.refusedCount).toBe(1)
  })

  it('of two resets at once one happens, and the other is fenced', async () => {
    const world = new World()
    const one = await begin(world.start())
    const two = await resume(world.start())
    const all = await Promise.allSettled([one.reset({ reason: '1' }), two.reset({ reason: '2' })])
    const done = all.flatMap((each) => (each.status === 'fulfilled' ? [each.value.generation] : []))
    expect(done).toEqual([2])
  })
})
