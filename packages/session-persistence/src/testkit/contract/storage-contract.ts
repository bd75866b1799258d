import { appendFacts } from './append-facts.ts'
import type { Fact, Facts, Place } from './fact.ts'
import { fidelityFacts } from './fidelity-facts.ts'
import { forkFacts } from './fork-facts.ts'
import { lifeFacts } from './life-facts.ts'
import { listFacts } from './list-facts.ts'
import { readFacts } from './read-facts.ts'
import { runner } from './runner.ts'
import { snapshotFacts } from './snapshot-facts.ts'
import { writerFacts } from './writer-facts.ts'

const groups: Readonly<Record<string, Facts>> = {
  'the life of a session': lifeFacts,
  append: appendFacts,
  read: readFacts,
  'one writer': writerFacts,
  fork: forkFacts,
  list: listFacts,
  payloads: fidelityFacts,
}

/**
 * Registers what every `SessionStorage` promises as vitest tests. `makePlace` gives an empty place for each
 * test.
 */
export function storageContract(name: string, makePlace: () => Place): void {
  const { describe, it, expect } = runner()
  const show = async (fact: Fact): Promise<void> => {
    const place = makePlace()
    await fact({ place, storage: place.open(), expect })
  }
  describe(`${name} keeps the contract of a storage`, () => {
    for (const [group, facts] of Object.entries(groups)) {
      describe(group, () => {
        for (const [title, fact] of Object.entries(facts)) {
          it(title, () => show(fact))
        }
      })
    }
    describe('snapshots', () => {
      it('a shelf for them is there where the capabilities say so', async () => {
        const { snapshots, capabilities } = makePlace().open()
        if (snapshots === undefined) console.info(`${name} keeps no snapshots: the tests of them are skipped`)
        expect(snapshots !== undefined).toBe(capabilities.hasSnapshots)
      })
      for (const [title, fact] of Object.entries(snapshotFacts)) {
        it(title, async (context) => {
          const place = makePlace()
          const storage = place.open()
          if (storage.snapshots === undefined) return context.skip('it keeps no snapshots')
          await fact({ place, storage, expect })
        })
      }
    })
  })
}
