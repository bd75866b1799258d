import { SessionError } from '@tidemark/session-core'
import type { SessionStorage, Snapshot, SnapshotShelf } from '@tidemark/session-persistence'
import {
  plantedFaults,
  provePlanted,
  stories,
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

/** A shelf of snapshots with a lie. */
function shelving(lie: (shelf: SnapshotShelf) => Partial<SnapshotShelf>): PlantedFault['plant'] {
  return (subject) => ({
    open: (port) => {
      const storage = subject.open(port)
      const { snapshots } = storage
      if (snapshots === undefined) return storage
      return withOwn<SessionStorage>(storage, { snapshots: withOwn(snapshots, lie(snapshots)) })
    },
  })
}

const changed = ({ at, content }: Snapshot): Snapshot => ({
  at,
  content: content.map((byte, index) => (index === 0 ? byte ^ 1 : byte)),
})

/** Saved by one, and given for any session and any moment. */
function keepingOne(): PlantedFault['plant'] {
  let last: Snapshot | undefined
  return shelving((shelf) => ({
    save: async (lease, snapshot) => {
      await shelf.save(lease, snapshot)
      last = snapshot
    },
    load: async () => last,
  }))
}

const shelfFaults: readonly PlantedFault[] = [
  {
    name: 'a snapshot is given with another content',
    campaign: 'crash',
    plant: shelving((shelf) => ({
      load: async (id, through) => {
        const found = await shelf.load(id, through)
        return found && changed(found)
      },
    })),
  },
  {
    name: 'a snapshot that was saved is not given',
    campaign: 'crash',
    plant: shelving(() => ({ load: async () => undefined })),
  },
  { name: 'one snapshot is given for every log', campaign: 'crash', plant: keepingOne() },
  {
    name: 'a writer that was taken over from is told that it saved',
    campaign: 'crash',
    plant: shelving((shelf) => ({
      save: (lease, snapshot) => shelf.save(lease, snapshot).catch(() => undefined),
    })),
  },
  {
    name: 'a snapshot that cannot be read is told as damage',
    campaign: 'damage',
    plant: shelving((shelf) => ({
      load: async (id, through) => {
        const found = await shelf.load(id, through)
        if (found) return found
        throw new SessionError('CORRUPT', 'there is no snapshot')
      },
    })),
  },
]

/** One damage in many shows it. */
const headFault: PlantedFault = {
  name: 'durable heads are not written',
  campaign: 'damage',
  plant: unwritten(/\/head-\d+$/),
}

const ownFaults: readonly PlantedFault[] = [
  { name: 'bytes that are set aside are not written', campaign: 'crash', plant: unwritten(/\/recovered\//) },
]

describe.each(['lazy', 'strict'] as const)(
  'a fault that is planted in the %s journal is found',
  (durability) => {
    const subject = journalWith(durability)
    for (const fault of [...plantedFaults, ...ownFaults]) {
      testCampaign(fault.name, () => provePlanted(subject, fault, { durability }))
    }
    testCampaign(headFault.name, () => provePlanted(subject, headFault, { durability, kinds: ['cut short'] }))
    const own = stories.filter(({ name }) => name === 'snapshots')
    for (const fault of shelfFaults) {
      testCampaign(fault.name, () =>
        provePlanted(subject, fault, { durability, stories: own, kinds: ['file lost', 'files swapped'] }),
      )
    }
  },
)
