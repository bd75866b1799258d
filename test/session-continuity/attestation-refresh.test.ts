import { describe, expect, it } from 'vitest'
import { policy } from './source.ts'
import { World, begin, credential, isNoticed, reasonFor, resume, type ProcessOptions } from './world.ts'

describe('attestation refresh', () => {
  it('equal or higher assurance keeps continuity, under a fresh incarnation', async () => {
    const world = new World()
    const handle = await begin(world.start())
    await handle.raise('confidential')
    const equal = await handle.refresh({ credential: credential('alice', { authenticatedAt: 2_000 }) })
    expect(equal).toMatchObject({ sensitivity: 'confidential', generation: 1, isOpen: true })
    expect(equal.incarnation).not.toBe(handle.incarnation)
    expect(handle.isOpen).toBe(false)
    const higher = await equal.refresh({
      credential: credential('alice', { authenticatedAt: 2_000, assurance: 3 }),
    })
    expect(higher).toMatchObject({ sensitivity: 'confidential', principal: { assurance: 3 } })
    await higher.close()
    // What was reached is what is asked for from now on.
    expect(await reasonFor(() => resume(world.start(), 'alice', { authenticatedAt: 3_000 }))).toBe(
      'weaker-assurance',
    )
    const after = await resume(world.start(), 'alice', { authenticatedAt: 3_000, assurance: 3 })
    expect(after.sensitivity).toBe('confidential')
  })

  const refusesWeaker = async (options: ProcessOptions = {}): Promise<void> => {
    const world = new World()
    const process = world.start(options)
    const strong = credential('alice', { assurance: 2, authenticatedAt: 2_000 })
    const handle = await process.continuity.open({ mode: 'begin', credential: strong, scope: 's' })
    const before = world.files('root')
    const refresh = (life: object) => () => handle.refresh({ credential: credential('alice', life) })
    expect(await reasonFor(refresh({ assurance: 1, authenticatedAt: 3_000 }))).toBe('weaker-assurance')
    expect(await reasonFor(refresh({ assurance: 2, authenticatedAt: 1_999 }))).toBe('stale-credential')
    expect(await reasonFor(refresh({ assurance: 9, authenticatedAt: 1_999 }))).toBe('stale-credential')
    expect(handle.isOpen).toBe(true)
    expect(world.files('root')).toEqual(before)
    const again = (life: object) => () => resume(process, 'alice', { where: 's', ...life })
    expect(await reasonFor(again({ assurance: 1, authenticatedAt: 3_000 }))).toBe('weaker-assurance')
    expect(await reasonFor(again({ assurance: 2, authenticatedAt: 1_999 }))).toBe('stale-credential')
  }

  it('a weaker assurance, or a credential older than the newest seen, gains nothing through a reused key', () =>
    refusesWeaker())

  it.each<[string, ProcessOptions['rules']]>([
    [
      'refresh',
      {
        judgeRefresh: (facts, terms) => policy.judgeGeneration(facts, terms),
      },
    ],
    ['resume', { judgeResume: (facts) => policy.judgeStanding(facts) }],
  ])('without the rule for %s what was gained is seen', async (_, rules) => {
    expect(await isNoticed(() => refusesWeaker({ rules }))).toBe(true)
  })

  it('an old token after a newer one is refused, in whichever process it is shown', async () => {
    const world = new World()
    const handle = await begin(world.start())
    const other = await resume(world.start())
    await handle.refresh({ credential: credential('alice', { authenticatedAt: 5_000 }) })
    const late = () => other.refresh({ credential: credential('alice', { authenticatedAt: 4_000 }) })
    expect(await reasonFor(late)).toBe('stale-credential')
    expect(await reasonFor(() => resume(world.start(), 'alice', { authenticatedAt: 4_000 }))).toBe(
      'stale-credential',
    )
  })

  it('another principal’s credential refreshes nothing, nor one that acts for somebody else', async () => {
    const world = new World()
    const process = world.start()
    const handle = await begin(process)
    await begin(process, 'bob')
    const refresh =
      (id: string, life = {}) =>
      () =>
        handle.refresh({ credential: credential(id, life) })
    expect(await reasonFor(refresh('bob'))).toBe('other-principal')
    const onBehalfOf = { id: 'bob', kind: 'human', assurance: 1, authenticatedAt: 1_000 } as const
    expect(await reasonFor(refresh('alice', { onBehalfOf }))).toBe('other-principal')
    expect(handle.isOpen).toBe(true)
  })

  it('a credential that was made in the future is none: every later one would look stale', async () => {
    const process = new World().start()
    const made = (authenticatedAt: number) =>
      process.continuity.open({
        mode: 'begin',
        credential: credential('alice', { authenticatedAt }),
        scope: 's',
      })
    expect(await reasonFor(() => made(15_001))).toBe('bad-credential')
    expect((await made(15_000)).isOpen).toBe(true)
  })

  it('needs its own grant', async () => {
    const handle = await begin(new World().start({ grants: () => ({ operations: ['begin'] }) }))
    expect(await reasonFor(() => handle.refresh({ credential: credential('alice') }))).toBe('no-grant')
  })
})
