import { appendFacts } from './append-facts.ts'
import type { Facts, Place } from './fact.ts'
import { fidelityFacts } from './fidelity-facts.ts'
import { forkFacts } from './fork-facts.ts'
import { lifeFacts } from './life-facts.ts'
import { listFacts } from './list-facts.ts'
import { readFacts } from './read-facts.ts'
import { runner } from './runner.ts'
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
  describe(`${name} keeps the contract of a storage`, () => {
    for (const [group, facts] of Object.entries(groups)) {
      describe(group, () => {
        for (const [title, fact] of Object.entries(facts)) {
          it(title, async () => {
            const place = makePlace()
            await fact({ place, storage: place.open(), expect })
          })
        }
      })
    }
  })
}
