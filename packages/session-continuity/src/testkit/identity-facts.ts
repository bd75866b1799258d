import { crowd, type Facts } from './fact.ts'

export const identityFacts: Facts = {
  'a store is made once, and then store and witness tell its id': async ({ other, storeId, expect }) => {
    expect(storeId).toMatch(/^[0-9a-f]{32}$/)
    expect(await other.identify()).toEqual({ storeId, witnessedId: storeId, isEmpty: true })
  },

  'of many who make a store at once all get the same one': async ({ store, other, storeId, expect }) => {
    const ids = await Promise.all(
      Array.from({ length: crowd }, (_, index) => (index % 2 ? store : other).establish(undefined)),
    )
    expect(new Set(ids)).toEqual(new Set([storeId]))
  },

  'it is not empty once it holds a state': async ({ store, other, storeId, expect }) => {
    await store.state({ storeId, scope: 's', key: 'k'.repeat(64) }).replace({}, { expected: 0 })
    expect((await other.identify()).isEmpty).toBe(false)
  },

  'refused attempts are taken': async ({ store, expect }) => {
    const refused = { time: 0, operation: 'resume', reason: 'no-grant' } as const
    expect(await store.refusals.write([{ ...refused, suppressed: 0 }])).toBeUndefined()
  },
}
