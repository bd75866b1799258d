import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { JsonValue } from '@tidemark/session-core'
import { describe, expect, it } from 'vitest'
import { chains, entries } from './source.ts'
import { World, begin, credential, foldersOf, reasonFor, resume, scope, type TestProcess } from './world.ts'

const fileOf = (world: World, number: number): string =>
  join(foldersOf(world).audit, `${String(number).padStart(6, '0')}.jsonl`)

/** Entries more at the end of a chain, by somebody who can write the store; all digests fit. */
function append(world: World, number: number, added: Record<string, Record<string, JsonValue>>): void {
  const path = fileOf(world, number)
  for (const [action, detail] of Object.entries(added)) {
    const text = readFileSync(path, 'utf8')
    const { entry, digest } = entries.findEntry(text.split('\n').at(-2)!)!
    const { incarnation, time } = entry
    const sealed = entries.sealEntry({ index: entry.index, digest }, { incarnation, time, action, detail })
    writeFileSync(path, text + entries.lineOf(sealed), { mode: 0o600 })
  }
}

async function dies(world: World, mode: 'begin' | 'resume'): Promise<string> {
  const process = world.start()
  const handle = mode === 'begin' ? await begin(process) : await resume(process)
  await handle.audit({ action: 'deploy' })
  process.die()
  return handle.incarnation
}

const verify = (process: TestProcess) => process.continuity.verify(scope, { credential: credential('alice') })

async function chainsOf(world: World): Promise<readonly (readonly [string, unknown])[]> {
  return (await verify(world.start())).chains.map(({ life, fault }) => [life, fault] as const)
}

async function orphansOf(world: World): Promise<readonly string[]> {
  const process = world.start()
  const as = await resume(process)
  const orphans = await process.continuity.orphans({ as })
  await as.close()
  return orphans.map(({ incarnation }) => incarnation)
}

describe('what a dead incarnation wrote is all there will be', () => {
  it('a close that somebody wrote after the end of a crashed one hides no orphan, and is damage', async () => {
    const world = new World()
    const ids = [await dies(world, 'begin'), await dies(world, 'resume')]
    expect(await orphansOf(world)).toEqual(ids)
    append(world, 1, { 'continuity/close': {} })
    expect(await orphansOf(world)).toEqual(ids)
    expect((await chainsOf(world)).slice(0, 2)).toEqual([
      ['orphaned', 'extended'],
      ['orphaned', undefined],
    ])
    expect((await verify(world.start())).isSound).toBe(false)
  })

  it('an entry after a close is damage, and what it acknowledges stays an orphan', async () => {
    const world = new World()
    const ids = [await dies(world, 'begin'), await dies(world, 'resume')]
    await (await resume(world.start())).close()
    await (await resume(world.start())).close()
    append(world, 3, {
      'continuity/acknowledge': { incarnation: ids[1]!, reason: '' },
      'continuity/close': {},
    })
    expect(await orphansOf(world)).toEqual(expect.arrayContaining(ids))
    expect((await chainsOf(world))[2]).toEqual(['orphaned', 'extended'])
  })

  it('a chain that is longer than the acknowledgement of it says is damage, and an orphan again', async () => {
    const world = new World()
    const id = await dies(world, 'begin')
    const process = world.start()
    const as = await resume(process)
    await process.continuity.acknowledge(id, { as, reason: 'seen' })
    await as.close()
    expect(await chainsOf(world)).toMatchObject([
      ['acknowledged', undefined],
      ['closed', undefined],
    ])
    append(world, 1, { more: {} })
    expect((await chainsOf(world))[0]).toEqual(['orphaned', 'extended'])
  })

  it('one that lives is linked to, and goes on, and nothing is wrong with it', async () => {
    const world = new World()
    const one = await begin(world.start())
    const two = await resume(world.start())
    await one.audit({ action: 'later' })
    await one.close()
    await two.close()
    await (await resume(world.start())).close()
    expect((await verify(world.start())).isSound).toBe(true)
  })

  it.each([1, 2])('a link to chain %i in the opening of chain 1 is damage', (number) => {
    const link = { number, incarnation: 'one', index: 0, digest: '0'.repeat(64) }
    const detail = { number: 1, scope, store: 'store', key: 'k', principal: 'p', links: [link] }
    const sealed = entries.sealEntry(undefined, {
      incarnation: 'one',
      time: 5,
      action: 'continuity/begin',
      detail,
    })
    const reading = chains.readChain(Buffer.from(entries.lineOf(sealed)), {
      number: 1,
      scope,
      storeId: 'store',
    })
    expect(reading.fault).toEqual({ kind: 'link', index: 0 })
  })
})

describe('an orphan whose chain does not tell its id', () => {
  it.each<[string, (path: string) => void, string]>([
    ['is gone', (path) => rmSync(path), 'missing'],
    ['cannot be read', (path) => writeFileSync(path, 'x\n', { mode: 0o600 }), 'spelling'],
  ])('as it %s, is acknowledged by its number', async (_, spoil, fault) => {
    const world = new World()
    for (const mode of ['begin', 'resume', 'resume'] as const) await dies(world, mode)
    await (await resume(world.start())).close()
    spoil(fileOf(world, 2))
    const process = world.start()
    const as = await resume(process)
    expect((await process.continuity.orphans({ as })).map(({ incarnation }) => incarnation)).toContain(
      'chain-2',
    )
    await process.continuity.acknowledge('chain-2', { as, reason: 'seen' })
    expect((await process.continuity.orphans({ as })).map(({ number }) => number)).toEqual([1, 3])
    expect(await reasonFor(() => process.continuity.acknowledge('chain-2', { as, reason: '' }))).toBe(
      'no-orphan',
    )
    expect((await verify(process)).chains[1]).toMatchObject({ life: 'acknowledged', fault })
  })
})
