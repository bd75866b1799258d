import type { Cell, ContinuityStore, ScopePlace } from '../store.ts'
import { crowd, scopesApart, type Facts, type Scene } from './fact.ts'

type CellOf = (store: ContinuityStore, place: ScopePlace) => Cell

/** More values than a store need keep. */
const manyValues = 40

interface Cells {
  readonly mine: Cell
  readonly theirs: Cell
}

/** What a value under compare-and-swap promises. */
export function cellFacts(cellOf: CellOf): Facts {
  const inScope = ({ store, other, storeId }: Scene, scope = 's'): Cells => ({
    mine: cellOf(store, { storeId, scope }),
    theirs: cellOf(other, { storeId, scope }),
  })
  return { ...plainFacts(inScope), ...racingFacts(inScope) }
}

type InScope = (scene: Scene, scope?: string) => Cells

function plainFacts(inScope: InScope): Facts {
  return {
    'what nobody wrote is missing': async (scene) => {
      const { mine } = inScope(scene)
      scene.expect(await mine.read()).toEqual({ kind: 'missing', number: 0 })
      scene.expect(await mine.provable()).toEqual([])
    },

    'what was written is read elsewhere, as it was when it was given': async (scene) => {
      const { mine, theirs } = inScope(scene)
      const value = { text: '\u0000 é 甲', list: [1, { deep: null }] }
      const kept = structuredClone(value)
      scene.expect(await mine.replace(value, { expected: 0 })).toBe(1)
      value.list.push(2)
      scene.expect(await theirs.read()).toEqual({ kind: 'found', number: 1, value: kept })
      scene.expect(await theirs.provable()).toEqual([kept])
      await theirs.settle()
    },

    'scopes do not share a value, however alike they are': async (scene) => {
      for (const scope of scopesApart)
        scene.expect(await inScope(scene, scope).mine.replace({ scope }, { expected: 0 })).toBe(1)
      for (const scope of scopesApart)
        scene.expect(await inScope(scene, scope).theirs.read()).toMatchObject({ value: { scope } })
    },
  }
}

/** Of the principals of a scope. */
export const keyFacts: Facts = {
  'keys do not share a value, however alike they are': async ({ store, other, storeId, expect }) => {
    const keys = ['a'.repeat(64), `${'a'.repeat(63)}b`, `b${'a'.repeat(63)}`]
    const cellOf = (from: ContinuityStore, key: string): Cell => from.state({ storeId, scope: 's', key })
    for (const key of keys) expect(await cellOf(store, key).replace({ key }, { expected: 0 })).toBe(1)
    for (const key of keys) expect(await cellOf(other, key).read()).toMatchObject({ value: { key } })
  },
}

function racingFacts(inScope: InScope): Facts {
  return {
    'of many who replace the same value at once one succeeds': async (scene) => {
      const { mine, theirs } = inScope(scene)
      for (let expected = 0; expected < 4; expected++) {
        const all = Array.from({ length: crowd }, (_, who) =>
          (who % 2 ? mine : theirs).replace({ who }, { expected }),
        )
        const won = (await Promise.all(all)).filter((number) => number !== undefined)
        scene.expect(won).toEqual([expected + 1])
      }
      scene.expect(await mine.read()).toMatchObject({ kind: 'found', number: 4 })
    },

    'who decided on an older value is told, and changes nothing': async (scene) => {
      const { mine, theirs } = inScope(scene)
      for (let expected = 0; expected < manyValues; expected++) await mine.replace({ expected }, { expected })
      for (const expected of [0, 1, manyValues - 2, manyValues - 1])
        scene.expect(await theirs.replace({ late: true }, { expected })).toBeUndefined()
      const newest = { expected: manyValues - 1 }
      scene.expect(await theirs.read()).toEqual({ kind: 'found', number: manyValues, value: newest })
    },

    'a number may be skipped; who decided on the value before the gap is told': async (scene) => {
      const { mine, theirs } = inScope(scene)
      await mine.replace({ at: 1 }, { expected: 0 })
      scene.expect(await mine.replace({ at: 8 }, { expected: 1, above: 7 })).toBe(8)
      scene.expect(await theirs.replace({ late: true }, { expected: 1 })).toBeUndefined()
      scene.expect(await theirs.read()).toEqual({ kind: 'found', number: 8, value: { at: 8 } })
    },
  }
}
