import { readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { numbering } from './source.ts'
import {
  credential,
  foldersOf,
  reached,
  reasonFor,
  resume,
  scope,
  type TestProcess,
  type World,
} from './world.ts'

const farthest = '999999999999999'

const recover = (process: TestProcess) =>
  process.continuity.recover(scope, { credential: credential('alice'), reason: 'a stray file' })

const verify = (process: TestProcess) => process.continuity.verify(scope, { credential: credential('alice') })

describe('a file with a number that nobody counted to', () => {
  it.each<[string, (world: World) => string]>([
    ['states', (world) => join(foldersOf(world).state, farthest)],
    ['audits', (world) => join(foldersOf(world).audit, `${farthest}.jsonl`)],
    ['witness', (world) => join(foldersOf(world).witness, farthest)],
  ])('among the %s is told, is not followed, and ends nothing', async (where, pathOf) => {
    const world = await reached()
    writeFileSync(pathOf(world), 'x\n', { mode: 0o600 })
    expect((await verify(world.start())).isSound).toBe(false)
    if (where === 'audits') expect(await reasonFor(() => resume(world.start()))).toBe('damaged')
    else await (await resume(world.start())).close()
    for (let times = 0; times < 3; times++) {
      const handle = await recover(world.start())
      expect(handle.sensitivity).toBe('secret')
      await handle.audit({ action: 'goes on' })
      await handle.close()
      const again = await resume(world.start())
      expect(again.sensitivity).toBe('secret')
      await again.close()
    }
    expect((await verify(world.start())).isSound).toBe(false)
    const names = Object.values(foldersOf(world)).flatMap((folder) => readdirSync(folder))
    const numbers = names.flatMap((name) => /^(\d+)(\.jsonl)?$/.exec(name)?.[1] ?? [])
    expect(Math.max(...numbers.map(Number).filter((number) => number !== Number(farthest)))).toBeLessThan(100)
  })

  it.each(['states', 'witness'])('alone among the %s, is damage, and a recover goes on', async (where) => {
    const world = await reached()
    const { state, witness } = foldersOf(world)
    const folder = where === 'states' ? state : witness
    for (const name of readdirSync(folder)) rmSync(join(folder, name))
    writeFileSync(join(folder, farthest), 'x\n', { mode: 0o600 })
    expect(await reasonFor(() => resume(world.start()))).toBe('damaged')
    await (await recover(world.start())).close()
    expect((await resume(world.start())).sensitivity).toBe('secret')
  })

  it('a second one is told to who opens next, also after a first one was gone on from', async () => {
    const world = await reached()
    const put = (number: string) =>
      writeFileSync(join(foldersOf(world).audit, `${number}.jsonl`), 'x\n', { mode: 0o600 })
    put(farthest)
    await (await recover(world.start())).close()
    put('888888888888888')
    expect(await reasonFor(() => resume(world.start()))).toBe('damaged')
  })
})

describe('a file whose name is no number as it is spelled here', () => {
  const misspelled = ['0000099', '0000003', '000000', '0000000000099', '9'.repeat(16)]
  const places: Readonly<Record<string, (world: World) => string>> = {
    states: (world) => foldersOf(world).state,
    audits: (world) => foldersOf(world).audit,
    witness: (world) => foldersOf(world).witness,
    store: (world) => join(world.root, 'continuity', 'store'),
    "witness's store": (world) => join(world.witness, 'store'),
  }

  const cells = Object.keys(places).filter((place) => place !== 'audits')
  it.each(cells.flatMap((place) => misspelled.map((name) => [place, name] as const)))(
    'among the %s is told, is not followed, and ends nothing: %s',
    async (place, name) => {
      const world = await reached()
      const path = join(places[place]!(world), name)
      writeFileSync(path, 'x\n', { mode: 0o600 })
      expect((await verify(world.start())).isSound).toBe(false)
      const handle = await resume(world.start())
      expect(handle.sensitivity).toBe('secret')
      await handle.close()
      for (let times = 0; times < 2; times++) {
        const handle = await recover(world.start())
        expect(handle.sensitivity).toBe('secret')
        await handle.close()
        const again = await resume(world.start())
        expect(again.sensitivity).toBe('secret')
        await again.close()
      }
      expect(readFileSync(path, 'utf8')).toBe('x\n')
      expect((await verify(world.start())).isSound).toBe(false)
    },
  )

  it.each(['states', 'witness', 'audits'])(
    'and of more than six digits is one: among the %s',
    async (place) => {
      const world = await reached()
      const path = join(places[place]!(world), place === 'audits' ? '1000000.jsonl' : '1000000')
      writeFileSync(path, 'x\n', { mode: 0o600 })
      // It can have been counted to: the newest, and damaged.
      expect(await reasonFor(() => resume(world.start()))).toBe('damaged')
      await (await recover(world.start())).close()
      expect((await resume(world.start())).sensitivity).toBe('secret')
    },
  )
})

describe('the rule for numbers', () => {
  const number = fc.integer({ min: 1, max: numbering.numberMax })

  it('what is followed leaves room for a billion more, and a reader takes them all', () => {
    fc.assert(
      fc.property(fc.uniqueArray(number), fc.option(number, { nil: undefined }), (listed, known) => {
        const { numbers, strays } = numbering.follow(listed, known)
        expect([...numbers, ...strays]).toEqual([...listed].sort((a, b) => a - b))
        for (const each of numbers) expect(String(each + 1_000_000_000).length).toBeLessThanOrEqual(15)
      }),
    )
  })

  it('what is counted is followed, from the first and from any that is known', () => {
    const counted = [1, 2, 3, 4]
    for (const known of [undefined, 1, 4])
      expect(numbering.follow(counted, known)).toEqual({ numbers: counted, strays: [] })
    expect(numbering.follow([4, 1_000_000_005], 4)).toEqual({ numbers: [4], strays: [1_000_000_005] })
    expect(numbering.follow([4, 1_000_000_004], 4)).toEqual({ numbers: [4, 1_000_000_004], strays: [] })
  })
})
