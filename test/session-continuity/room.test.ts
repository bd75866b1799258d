import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { scopeName, witnesses } from './source.ts'
import { World, begin, credential, reasonFor, resume, scope } from './world.ts'

describe('room for handles', () => {
  it('is kept while they are opened: of five at once one is, where there is room for one', async () => {
    const process = new World().start({ config: { handlesMax: 1 } })
    const all = await Promise.allSettled(['a', 'b', 'c', 'd', 'e'].map((id) => begin(process, id)))
    expect(all.map(({ status }) => status).sort()).toEqual(['fulfilled', ...Array(4).fill('rejected')])
    const opened = all.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
    expect(await reasonFor(() => recover())).toBe('too-many')
    await opened[0]!.close()
    expect((await recover()).isOpen).toBe(true)

    function recover() {
      const { id } = opened[0]!.principal
      return process.continuity.recover(scope, { credential: credential(id.slice(5)), reason: 'room' })
    }
  })
})

describe('a witness that is full', () => {
  it('refuses before anything is made, and each attempt is counted', async () => {
    const world = new World()
    const process = world.start()
    const handle = await begin(process)
    const identity = await process.store.identify()
    const cell = process.store.witness({ storeId: identity.storeId!, scope })
    const found = await cell.read()
    if (found.kind !== 'found') throw new TypeError(found.kind)
    const known = found.value as witnesses.Witness
    const one = Object.values(known.marks)[0]!
    const more = Array.from({ length: witnesses.marksMax - 1 }, (_, at) => [
      at.toString(16).padStart(64, '0'),
      one,
    ])
    await cell.replace(
      { ...known, marks: { ...known.marks, ...Object.fromEntries(more) } },
      { expected: found.number },
    )
    const audit = join(world.root, 'continuity', 'scopes', scopeName(scope), 'audit')
    const before = readdirSync(audit).length
    for (let times = 0; times < 5; times++)
      expect(await reasonFor(() => begin(process, 'bob'))).toBe('too-many')
    expect(readdirSync(audit).length).toBe(before)
    expect(process.continuity.refusedCount).toBe(5)
    await handle.raise('internal')
    expect((await resume(process)).sensitivity).toBe('internal')
  })
})
