import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { policy } from './source.ts'
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

const gone = (path: string): void => rmSync(path, { recursive: true })

describe('missing state', () => {
  it('a new scope is begun, a known one is resumed, and the one call is never taken for the other', async () => {
    const world = new World()
    const process = world.start()
    expect(await refusalOf(() => resume(process))).toMatchObject({
      code: 'NOT_FOUND',
      reason: 'unknown-scope',
    })
    expect(world.files('root').size).toBe(0)
    await (await begin(process)).close()
    expect(await refusalOf(() => begin(process))).toMatchObject({ code: 'EXISTS', reason: 'known-scope' })
    expect(await resume(process)).toMatchObject({ sensitivity: 'public' })
  })

  const refusesLost = async (options: ProcessOptions = {}): Promise<void> => {
    const world = await reached()
    gone(foldersOf(world).state)
    const process = world.start(options)
    const lost = { code: 'CORRUPT', reason: 'lost-state' }
    expect(await refusalOf(() => resume(process))).toMatchObject(lost)
    expect(await refusalOf(() => begin(process))).toMatchObject(lost)
  }

  it('G42: a missing state never turns into a fresh, public one: not by resume, and not by begin', () =>
    refusesLost())

  it.each<[string, ProcessOptions['rules']]>([
    ['begin', { judgeBegin: (facts, terms) => policy.judgeBegin({ ...facts, mark: undefined }, terms) }],
    [
      'resume',
      {
        judgeResume: ({ labels }, { principal }) =>
          policy.judgeBegin(
            { labels, found: { kind: 'missing' }, mark: undefined },
            { principal, operations: ['resume'] },
          ),
      },
    ],
  ])('without the witness in the rule for %s the fresh state is seen', async (_, rules) => {
    expect(await isNoticed(() => refusesLost({ rules }))).toBe(true)
  })

  it.each([
    ['the scope’s folder', (world: World) => foldersOf(world).folder],
    ['every scope', ({ root }: World) => join(root, 'continuity', 'scopes')],
    ['the whole store', ({ root }: World) => root],
    ['what says which store it is', ({ root }: World) => join(root, 'continuity', 'store')],
  ])(
    'without %s nothing is opened and nothing is made; a recover with a grant goes on at the top that was reached',
    async (_, pathOf) => {
      const world = await reached()
      gone(pathOf(world))
      const before = world.files('root')
      const process = world.start()
      expect(await reasonFor(() => resume(process))).toBe('lost-state')
      expect(await reasonFor(() => begin(process))).toBe('lost-state')
      expect(world.files('root')).toEqual(before)
      const handle = await process.continuity.recover(scope, {
        credential: credential('alice'),
        reason: 'disk lost',
      })
      expect(handle).toMatchObject({ sensitivity: 'secret', generation: 2 })
      await handle.close()
      expect(await resume(world.start())).toMatchObject({ sensitivity: 'secret', generation: 2 })
    },
  )

  it.each<[string, (world: World) => string, string]>([
    ['store', ({ root }) => root, 'lost-state'],
    ['witness', ({ witness }) => witness, 'no-witness'],
  ])('a lost %s: what one principal recovers is not what another one needs', async (_, pathOf, reason) => {
    const world = await reached()
    const bob = await begin(world.start(), 'bob')
    await bob.raise('internal')
    await bob.close()
    gone(pathOf(world))
    const process = world.start()
    const recover = (id: string) =>
      process.continuity.recover(scope, { credential: credential(id), reason: 'disk lost' })
    expect((await recover('alice')).sensitivity).toBe('secret')
    expect(await reasonFor(() => resume(process, 'bob'))).toBe(reason)
    expect((await refusalOf(() => begin(process, 'bob'))).reason).toMatch(/lost-state|known-scope/)
    expect((await recover('bob')).sensitivity).toBe('internal')
    expect((await resume(process, 'bob')).sensitivity).toBe('internal')
  })

  it('in a lost store not even a scope that nobody has seen is begun', async () => {
    const world = await reached()
    gone(world.root)
    expect(await reasonFor(() => begin(world.start(), 'alice', 'new'))).toBe('lost-state')
  })

  it('a recover needs its own grant, and makes nothing of a scope that nothing is left of', async () => {
    const world = await reached()
    const recover =
      (id: string, where: string, options: ProcessOptions = {}) =>
      () =>
        world.start(options).continuity.recover(where, { credential: credential(id), reason: 'try' })
    const grants = () => ({ operations: ['begin', 'resume', 'reset'] as const })
    expect(await reasonFor(recover('alice', scope, { grants }))).toBe('no-grant')
    const before = world.files('root')
    expect(await reasonFor(recover('alice', 'nowhere'))).toBe('unknown-scope')
    expect(await reasonFor(recover('bob', scope))).toBe('unknown-scope')
    expect(world.files('root')).toEqual(before)
  })
})
