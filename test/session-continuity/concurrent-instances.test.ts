import { describe, expect, it } from 'vitest'
import type { Facts, RaiseTerms } from '../../packages/session-continuity/src/policy-state.ts'
import { policy } from './source.ts'
import { World, begin, isNoticed, refusalOf, resume, scope, type ProcessOptions } from './world.ts'

describe('concurrent instances', () => {
  it('two authorized instances share the state, and both see the maximum', async () => {
    const world = new World()
    const one = await begin(world.start())
    const two = await resume(world.start())
    await one.raise('confidential')
    await two.update()
    expect(two.sensitivity).toBe('confidential')
    await Promise.all([one.raise('internal'), two.raise('secret')])
    await one.update()
    expect([one.sensitivity, two.sensitivity]).toEqual(['secret', 'secret'])
  })

  const keepsTheMaximum = async (options: ProcessOptions = {}): Promise<void> => {
    const world = new World()
    const one = await begin(world.start(options))
    const two = await resume(world.start(options))
    await one.raise('secret')
    await two.raise('internal')
    expect(two.sensitivity).toBe('secret')
    const three = await resume(world.start())
    expect(three.sensitivity).toBe('secret')
  }

  it('G41: a racing lower write cannot roll the ratchet back', () => keepsTheMaximum())

  it('without the merge by maximum the rollback is seen', async () => {
    const mergeRaise = (facts: Facts, { generation, label }: RaiseTerms): policy.Verdict => {
      const current = policy.judgeGeneration(facts, { generation })
      return current.kind === 'no'
        ? current
        : { kind: 'yes', state: { ...current.state, sensitivity: label } }
    }
    const check = async () => {
      try {
        await keepsTheMaximum({ rules: { mergeRaise } })
      } catch (error) {
        // The witness notices by itself what the rule let pass.
        if ((error as { details?: { reason?: unknown } }).details?.reason === 'behind-witness')
          expect.fail('rolled back')
        throw error
      }
    }
    expect(await isNoticed(check)).toBe(true)
  })

  const fencesTheStale = async (options: ProcessOptions = {}): Promise<void> => {
    const world = new World()
    const stale = await begin(world.start(options))
    const other = await resume(world.start(options))
    await other.reset({ reason: 'a new project' })
    const fenced = { code: 'FENCED', reason: 'stale-generation' }
    expect(await refusalOf(() => stale.update())).toMatchObject(fenced)
    expect(await refusalOf(() => stale.audit({ action: 'deploy' }))).toMatchObject(fenced)
    expect(await refusalOf(() => stale.raise('internal'))).toMatchObject(fenced)
    expect(stale).toMatchObject({ sensitivity: 'internal', isOpen: false })
  }

  it('an instance of an older generation is fenced, and its raise still holds in memory', () =>
    fencesTheStale())

  it('without the question for the generation the stale instance is seen', async () => {
    const judgeGeneration: typeof policy.judgeGeneration = (facts) => policy.judgeStanding(facts)
    expect(await isNoticed(() => fencesTheStale({ rules: { judgeGeneration } }))).toBe(true)
  })

  it('of two that begin the same scope at once one does, and the other is told', async () => {
    const world = new World()
    const all = await Promise.allSettled([begin(world.start()), begin(world.start()), begin(world.start())])
    const lost = all.flatMap((each) =>
      each.status === 'rejected' ? [each.reason as { details: object }] : [],
    )
    expect(lost).toHaveLength(2)
    for (const { details } of lost) expect(details).toMatchObject({ reason: 'known-scope' })
    expect((await resume(world.start())).scope).toBe(scope)
  })

  it('eight instances that open, raise and close at once lose nothing, and every chain holds', async () => {
    const world = new World()
    await (await begin(world.start())).close()
    const labels = ['internal', 'public', 'confidential', 'secret']
    await Promise.all(
      Array.from({ length: 8 }, async (_, index) => {
        const handle = await resume(world.start())
        for (let round = 0; round < 4; round++) await handle.raise(labels[(index + round) % 3]!)
        await handle.close()
      }),
    )
    const process = world.start()
    expect((await resume(process)).sensitivity).toBe('confidential')
    const verified = await process.continuity.verify(scope, {
      credential: {
        mechanism: 'test',
        token: JSON.stringify({ id: 'alice', kind: 'human', assurance: 1, authenticatedAt: 1_000 }),
      },
    })
    expect(verified.chains).toHaveLength(10)
    expect(verified.isSound).toBe(true)
  })
})
