import { cpSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { World, begin, credential, reached, reasonFor, resume, scope, type TestProcess } from './world.ts'

const recover = (process: TestProcess) =>
  process.continuity.recover(scope, { credential: credential('alice'), reason: 'which store is it' })

const places = {
  store: (world: World) => join(world.root, 'continuity', 'store'),
  witness: (world: World) => join(world.witness, 'store'),
}

const damage = (folder: string): void => writeFileSync(join(folder, '000007'), 'x', { mode: 0o600 })

describe('a damaged id of a store', () => {
  it.each(['store', 'witness'] as const)(
    'in the %s is told; a recover goes by the other one',
    async (where) => {
      const world = await reached()
      damage(places[where](world))
      expect(await reasonFor(() => resume(world.start()))).toBe('damaged')
      expect(await reasonFor(() => begin(world.start(), 'bob'))).toBe('damaged')
      const { isSound, store } = await world
        .start()
        .continuity.verify(scope, { credential: credential('alice') })
      expect([isSound, store]).toEqual([false, 'damaged'])
      await (await recover(world.start())).close()
      expect(await resume(world.start())).toMatchObject({ sensitivity: 'secret', generation: 2 })
    },
  )

  it('in both leaves nothing to go by, and changes nothing', async () => {
    const world = await reached()
    for (const folder of Object.values(places)) damage(folder(world))
    const before = [world.files('root'), world.files('witness')]
    expect(await reasonFor(() => recover(world.start()))).toBe('damaged')
    expect([world.files('root'), world.files('witness')]).toEqual(before)
  })

  it('lets nothing of another store in: a recover goes on at what the witness knows', async () => {
    const [world, other] = [await reached(), new World()]
    await (await begin(other.start())).close()
    rmSync(world.root, { recursive: true })
    cpSync(other.root, world.root, { recursive: true })
    expect(await reasonFor(() => recover(world.start()))).toBe('other-store')
    damage(places.store(world))
    const handle = await recover(world.start())
    expect(handle).toMatchObject({ sensitivity: 'secret', generation: 2 })
    await handle.close()
    expect((await resume(world.start())).sensitivity).toBe('secret')
  })
})
