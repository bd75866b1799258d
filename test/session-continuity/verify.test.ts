import { rmSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { World } from './world.ts'
import { begin, credential, foldersOf, linesOf, reached, scope } from './world.ts'

/** What alice finds, whose scope it is, or somebody who has no state in it and may verify. */
function verify(world: World, id = 'auditor') {
  return world.start().continuity.verify(scope, { credential: credential(id) })
}

/** Cuts the end of the only chain. */
function cut(world: World): void {
  const [first = '', second = ''] = linesOf(world, 1)
  truncateSync(join(foldersOf(world).audit, '000001.jsonl'), Buffer.byteLength(`${first}\n${second}\n`))
}

describe('verify', () => {
  it('whoever only audits finds a sound scope sound, and hears that no state of its own could be checked', async () => {
    const world = await reached()
    expect(await verify(world)).toMatchObject({
      isSound: true,
      store: 'known',
      state: 'unknown-scope',
      checked: { truncation: true, rollback: false },
    })
    expect(await verify(world, 'alice')).toMatchObject({
      isSound: true,
      state: 'sound',
      checked: { truncation: true, rollback: true },
    })
  })

  it('a cut chain is found by an auditor, too', async () => {
    const world = await reached()
    cut(world)
    const { isSound, chains, checked } = await verify(world)
    expect(chains.map(({ fault }) => fault)).toEqual(['truncated'])
    expect({ isSound, truncation: checked.truncation }).toEqual({ isSound: false, truncation: true })
  })

  it.each(['alice', 'auditor'])(
    'where the witness of the scope is gone, %s hears that neither truncation nor rollback was checked',
    async (id) => {
      const world = await reached()
      cut(world)
      rmSync(foldersOf(world).witness, { recursive: true })
      expect(await verify(world, id)).toMatchObject({
        isSound: false,
        checked: { truncation: false, rollback: false },
      })
    },
  )

  it.each(['alice', 'auditor'])('nor where the whole witness is gone: %s', async (id) => {
    const world = await reached()
    rmSync(world.witness, { recursive: true })
    expect(await verify(world, id)).toMatchObject({
      isSound: false,
      store: 'no-witness',
      checked: { truncation: false, rollback: false },
    })
  })

  it('nor where a damaged state hides that its mark is gone', async () => {
    const world = await reached()
    const { state, witness } = foldersOf(world)
    for (const name of ['000001', '000002']) truncateSync(join(state, name), 3)
    rmSync(witness, { recursive: true })
    expect(await verify(world, 'alice')).toMatchObject({
      state: 'damaged',
      checked: { truncation: false, rollback: false },
    })
  })

  it('of a scope that nobody began nothing is called sound, or checked', async () => {
    const world = await reached()
    const found = await world.start().continuity.verify('nowhere', { credential: credential('auditor') })
    expect(found).toMatchObject({
      isSound: false,
      state: 'unknown-scope',
      checked: { truncation: false, rollback: false },
    })
  })

  it('a mark of somebody else is no check of one’s own state', async () => {
    const world = await reached()
    await (await begin(world.start(), 'bob')).close()
    expect((await verify(world)).checked).toMatchObject({ truncation: true, rollback: false })
    expect((await verify(world, 'bob')).checked).toMatchObject({ truncation: true, rollback: true })
  })
})
