import { describe } from 'vitest'
import type { SessionStorage } from '@tidemark/session-persistence'
import { appendContract } from './append-contract.ts'
import { fidelityContract } from './fidelity-contract.ts'
import { forkContract } from './fork-contract.ts'
import { lifeContract } from './life-contract.ts'
import { listContract } from './list-contract.ts'
import { writerContract } from './writer-contract.ts'

/** One place to keep sessions, opened as often as a test wants. */
export interface Place {
  /** A storage on this place; where processes share it, a second one is as good as another process. */
  open(): SessionStorage
}

/** What every `SessionStorage` promises. `makePlace` gives an empty place for each test. */
export function storageContract(name: string, makePlace: () => Place): void {
  describe(`${name} keeps the contract of a storage`, () => {
    lifeContract(makePlace)
    appendContract(makePlace)
    writerContract(makePlace)
    forkContract(makePlace)
    listContract(makePlace)
    fidelityContract(makePlace)
  })
}
