import type { AuditShelf } from '../store.ts'
import { crowd, scopesApart, type Facts, type Scene } from './fact.ts'

interface Shelves {
  readonly mine: AuditShelf
  readonly theirs: AuditShelf
}

/** What a shelf is there for begins with a hold: that makes the scope's place. */
async function shelves({ store, other, storeId }: Scene, scope = 's'): Promise<Shelves> {
  const [mine, theirs] = [store, other].map((each) => each.audit({ storeId, scope })) as [
    AuditShelf,
    AuditShelf,
  ]
  const release = await mine.hold('00000000-0000-4000-8000-000000000000')
  await release()
  return { mine, theirs }
}

const text = (bytes: Uint8Array | undefined): string => new TextDecoder().decode(bytes)

const ids = { a: '11111111-1111-4111-8111-111111111111', b: '22222222-2222-4222-8222-222222222222' }

export const auditFacts: Facts = {
  'what nobody made is not there': async (scene) => {
    const { theirs } = await shelves(scene)
    scene.expect(await theirs.numbers()).toEqual([])
    scene.expect(await theirs.read(1)).toBeUndefined()
  },

  'a chain is made whole, and grows by lines, in order': async (scene) => {
    const { mine, theirs } = await shelves(scene)
    const writer = await mine.create(1, 'first\n')
    scene.expect(text(await theirs.read(1))).toBe('first\n')
    await writer?.append('second é\n')
    await writer?.append('last\n', { isLast: true })
    scene.expect(text(await theirs.read(1))).toBe('first\nsecond é\nlast\n')
    await writer?.close()
    scene.expect(text(await theirs.read(1))).toBe('first\nsecond é\nlast\n')
  },

  'a number that is taken is not taken again, and nothing of it changes': async (scene) => {
    const { mine, theirs } = await shelves(scene)
    const writer = await mine.create(1, 'mine\n')
    await writer?.close()
    scene.expect(await theirs.create(1, 'theirs\n')).toBeUndefined()
    scene.expect(text(await theirs.read(1))).toBe('mine\n')
  },

  'of many who take the same number at once one gets it': async (scene) => {
    const { mine, theirs } = await shelves(scene)
    const all = Array.from({ length: crowd }, (_, who) => (who % 2 ? mine : theirs).create(1, `${who}\n`))
    const writers = (await Promise.all(all)).map((writer, who) => ({ writer, who }))
    const won = writers.filter(({ writer }) => writer !== undefined)
    scene.expect(won.length).toBe(1)
    scene.expect(text(await mine.read(1))).toBe(`${won[0]?.who}\n`)
    for (const { writer } of won) await writer?.close()
  },

  'numbers ascend as numbers, gaps and all': async (scene) => {
    const { mine, theirs } = await shelves(scene)
    for (const number of [10, 2, 1_000_000, 1]) await (await mine.create(number, 'line\n'))?.close()
    scene.expect(await theirs.numbers()).toEqual([1, 2, 10, 1_000_000])
  },

  'scopes do not share a chain, however alike they are': async (scene) => {
    for (const scope of scopesApart) {
      const { mine } = await shelves(scene, scope)
      await (await mine.create(1, `${scope}\n`))?.close()
    }
    for (const scope of scopesApart) {
      const { theirs } = await shelves(scene, scope)
      scene.expect(text(await theirs.read(1))).toBe(`${scope}\n`)
    }
  },

  'a name is held until it is released, and others are not': async (scene) => {
    const { mine, theirs } = await shelves(scene)
    const release = await mine.hold(ids.a)
    scene.expect([await theirs.isHeld(ids.a), await theirs.isHeld(ids.b)]).toEqual([true, false])
    await release()
    scene.expect(await theirs.isHeld(ids.a)).toBe(false)
    await theirs.forget(ids.a)
    await theirs.pause()
  },
}
