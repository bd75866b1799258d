import { crowd, type Facts } from './fact.ts'

/** As a recover gives it, that makes a lost store again. */
export const givenId = '0123456789abcdef'.repeat(2)

export const givenIdFacts: Facts = {
  'it bears the id that it was given': async ({ other, storeId, expect }) => {
    expect(storeId).toBe(givenId)
    expect(await other.identify()).toEqual({ storeId: givenId, witnessedId: givenId, isEmpty: true })
  },

  'it keeps that id, whatever it is asked for later': async ({ store, other, expect }) => {
    for (const each of [store, other]) expect(await each.establish(undefined)).toBe(givenId)
    await Promise.allSettled([other.establish('f'.repeat(32))])
    expect(await store.identify()).toMatchObject({ storeId: givenId, witnessedId: givenId })
  },
}

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
