import {
  plantedFaults,
  provePlanted,
  testCampaign,
  type PlantedFault,
} from '@tidemark/session-persistence/testkit'
import { describe } from 'vitest'
import { withOwn } from '../../../packages/session-persistence/src/testkit/planted/with-own.ts'
import { journalWith } from './journal-subject.ts'

/** What is written to files of these names is said to be there, and is not. */
function unwritten(name: RegExp): PlantedFault['plant'] {
  return (subject) => ({
    open: (port) =>
      subject.open(
        withOwn(port, {
          open: async (path, how) => {
            const file = await port.open(path, how)
            const isUnwritten = how === 'create' && name.test(path)
            return isUnwritten ? withOwn(file, { write: async (bytes) => bytes.length }) : file
          },
        }),
      ),
  })
}

const ownFaults: readonly PlantedFault[] = [
  { name: 'durable heads are not written', campaign: 'damage', plant: unwritten(/\/head-\d+$/) },
  { name: 'bytes that are set aside are not written', campaign: 'crash', plant: unwritten(/\/recovered\//) },
]

describe.each(['lazy', 'strict'] as const)(
  'a fault that is planted in the %s journal is found',
  (durability) => {
    const subject = journalWith(durability)
    for (const fault of [...plantedFaults, ...ownFaults]) {
      testCampaign(fault.name, () => provePlanted(subject, fault, { durability }))
    }
  },
)
