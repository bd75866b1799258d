import type { Operation } from '@tidemark/session-continuity'
import { rmSync, truncateSync, writeFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { judgeRecover } from './source.ts'
import {
  World,
  allOperations,
  begin,
  credential,
  foldersOf,
  isNoticed,
  reasonFor,
  resume,
  scope,
  type ProcessOptions,
  type TestProcess,
} from './world.ts'

const few: readonly Operation[] = ['begin', 'resume', 'raise', 'recover']

/** A scope that was begun with few operations. */
async function begunWithFew(options: ProcessOptions = {}): Promise<World> {
  const world = new World()
  const handle = await begin(world.start({ ...options, grants: () => ({ operations: few }) }))
  await handle.raise('internal')
  await handle.close()
  return world
}

const recover = (process: TestProcess, life = {}) =>
  process.continuity.recover(scope, { credential: credential('alice', life), reason: 'lost' })

/** Cuts the newest file of a folder. */
function damage(folder: string): void {
  truncateSync(join(folder, readdirSync(folder).sort().at(-1)!), 3)
}

describe('recover', () => {
  const leftovers: readonly (readonly [string, (world: World) => void])[] = [
    ['of a sound scope', () => undefined],
    [
      'of a scope whose newest chain is damaged',
      (world) => writeFileSync(join(foldersOf(world).audit, '000001.jsonl'), 'x'),
    ],
    ['of a state whose newest value is damaged', (world) => damage(foldersOf(world).state)],
    ['of a state without a witness', (world) => rmSync(foldersOf(world).witness, { recursive: true })],
  ]

  const widensNothing = async (
    spoil: (world: World) => void,
    options: ProcessOptions = {},
  ): Promise<void> => {
    const world = await begunWithFew(options)
    spoil(world)
    const handle = await recover(world.start(options))
    expect(handle).toMatchObject({ sensitivity: 'internal', generation: 2 })
    // What was recorded goes on.
    await handle.raise('confidential')
    expect(await reasonFor(() => handle.reset({ reason: 'more' }))).toBe('no-grant')
    await handle.close()
    const resumed = await resume(world.start(options))
    expect(await reasonFor(() => resumed.reset({ reason: 'more' }))).toBe('no-grant')
  }

  it.each(leftovers)('%s records no operation that was not recorded', (_, spoil) => widensNothing(spoil))

  it.each(leftovers)('%s: without the rule what was widened is seen', async (_, spoil) => {
    const rules: ProcessOptions['rules'] = {
      judgeRecover: (evidence, terms) => {
        const verdict = judgeRecover(evidence, terms)
        if (verdict.kind === 'no') return verdict
        return { kind: 'yes', state: { ...verdict.state, operations: terms.operations } }
      },
    }
    expect(await isNoticed(() => widensNothing(spoil, { rules }))).toBe(true)
  })

  it('and no operation that is not granted now', async () => {
    const world = new World()
    await (await begin(world.start())).close()
    const handle = await recover(world.start({ grants: () => ({ operations: few }) }))
    await handle.close()
    const resumed = await resume(world.start())
    await resumed.raise('internal')
    expect(await reasonFor(() => resumed.reset({ reason: 'more' }))).toBe('no-grant')
  })

  it('goes by the operations that the last reset recorded', async () => {
    const world = new World()
    const narrow = await begin(world.start({ grants: () => ({ operations: [...few, 'reset'] }) }))
    await narrow.close()
    const wide = await resume(world.start({ grants: () => ({ operations: allOperations }) }))
    await (await wide.reset({ reason: 'more is to be done' })).close()
    const life = { authenticatedAt: 10_001 }
    const handle = await recover(world.start(), life)
    await (await handle.refresh({ credential: credential('alice', life) })).close()
  })

  it('of a scope of which no state is left goes by what is granted now', async () => {
    const world = await begunWithFew()
    rmSync(foldersOf(world).state, { recursive: true })
    const handle = await recover(world.start())
    expect((await handle.reset({ reason: 'more' })).generation).toBe(3)
  })
})
