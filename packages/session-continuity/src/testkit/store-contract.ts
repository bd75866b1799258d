import { assert } from '@tidemark/session-core'
import type * as vitest from 'vitest'
import { auditFacts } from './audit-facts.ts'
import { cellFacts, keyFacts } from './cell-facts.ts'
import type { Facts, StorePlace } from './fact.ts'
import { givenId, givenIdFacts, identityFacts } from './identity-facts.ts'

/** The group whose stores are not left to choose their id. */
const underGivenId = 'a store whose id is given'

const groups: Readonly<Record<string, Facts>> = {
  'which store it is': identityFacts,
  [underGivenId]: givenIdFacts,
  'the policy state': {
    ...cellFacts((store, place) => store.state({ ...place, key: 'a'.repeat(64) })),
    ...keyFacts,
  },
  'the witness': cellFacts((store, place) => store.witness(place)),
  'the audit': auditFacts,
}

/**
 * Registers what every `ContinuityStore` promises as vitest tests; `vitest` is the module. `makePlace` gives an empty
 * place for each test. What only the death of a process shows (a hold that ends, a value that is whole) is not in it.
 */
export function storeContract(
  runner: typeof vitest,
  name: string,
  makePlace: () => StorePlace | Promise<StorePlace>,
): void {
  const { describe, it, expect } = runner
  describe(`${name} keeps the contract of a continuity store`, () => {
    for (const [group, facts] of Object.entries(groups)) {
      describe(group, () => {
        for (const [title, fact] of Object.entries(facts)) {
          it(title, async () => {
            const place = await makePlace()
            const [store, other] = [place.open(), place.open()]
            try {
              const { storeId } = await store.identify()
              assert(storeId === undefined, 'each test begins with an empty place')
              const given = group === underGivenId ? givenId : undefined
              await fact({ store, other, expect, storeId: await store.establish(given) })
            } finally {
              await store.close()
              await other.close()
            }
          })
        }
      })
    }
  })
}
