import type { JournalPort, PortFile } from '../../journal/port.ts'
import type { Subject } from '../subject.ts'
import type { PlantedFault } from './planted-fault.ts'
import { withOwn } from './with-own.ts'

/** The subject on ports that lie. What one opening of the storage is told, another one need not be. */
function atPort(lie: (port: JournalPort) => Partial<JournalPort>): PlantedFault['plant'] {
  return (subject: Subject) => ({ open: (port) => subject.open(withOwn(port, lie(port))) })
}

function atFile(lie: (file: PortFile) => Partial<PortFile>): PlantedFault['plant'] {
  return atPort((port) => ({
    open: async (path, how) => {
      const file = await port.open(path, how)
      return withOwn(file, lie(file))
    },
  }))
}

async function nothing(): Promise<void> {
  return undefined
}

/** Faults of whoever uses the file system. */
export const portFaults: readonly PlantedFault[] = [
  {
    name: 'files are not synced',
    campaign: 'crash',
    plant: atFile(() => ({ sync: nothing })),
  },
  {
    name: 'folders are not synced',
    campaign: 'crash',
    plant: atPort(() => ({ syncFolder: nothing })),
  },
  {
    name: 'an acknowledgement comes before the sync',
    campaign: 'crash',
    plant: atFile(syncsLate),
  },
  {
    name: 'a failed sync is tried again',
    campaign: 'crash',
    plant: atFile((file) => ({ sync: () => file.sync().catch(() => file.sync()) })),
  },
  {
    name: 'a failed sync is passed over',
    campaign: 'fault',
    plant: atFile((file) => ({ sync: () => file.sync().catch(nothing) })),
  },
  {
    name: 'written bytes are not counted',
    campaign: 'fault',
    plant: atFile((file) => ({
      write: async (bytes, offset) => {
        await file.write(bytes, offset)
        return bytes.length
      },
    })),
  },
  {
    name: 'a failed write is passed over',
    campaign: 'fault',
    plant: atFile((file) => ({
      write: (bytes, offset) => file.write(bytes, offset).catch(() => bytes.length),
    })),
  },
  {
    name: 'files that were read stay open',
    campaign: 'crash',
    plant: atPort((port) => ({
      open: async (path, how) => {
        const file = await port.open(path, how)
        return how === 'read' ? withOwn(file, { close: nothing }) : file
      },
    })),
  },
  {
    name: 'a writer looks at an old listing of its folder',
    campaign: 'crash',
    plant: atPort(listsOnce),
  },
]

/** Each sync is told at once, and done when the file is written to again, or closed. */
function syncsLate(file: PortFile): Partial<PortFile> {
  let isLate = false
  const catchUp = async (): Promise<void> => {
    if (isLate) await file.sync()
    isLate = false
  }
  return {
    sync: async () => {
      isLate = true
    },
    write: async (bytes, offset) => {
      await catchUp()
      return file.write(bytes, offset)
    },
    close: async () => {
      await catchUp()
      return file.close()
    },
  }
}

/** What a folder holds is learnt once, and again only when it has another file of one's own. */
function listsOnce(port: JournalPort): Partial<JournalPort> {
  const known = new Map<string, readonly string[]>()
  return {
    open: async (path, how) => {
      if (how === 'create') known.clear()
      return port.open(path, how)
    },
    readdir: async (path) => {
      const names = known.get(path) ?? (await port.readdir(path))
      known.set(path, names)
      return names
    },
  }
}
