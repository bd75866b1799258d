import { join } from 'node:path'
import { JournalStorage, systemPort } from '@tidemark/session-persistence/journal'
import { storageContract } from '@tidemark/session-persistence/testkit'
import { afterEach } from 'vitest'
import { scratch } from '../scratch.ts'

const opened: JournalStorage[] = []
afterEach(async () => {
  for (const storage of opened.splice(0)) await storage.close()
})

storageContract('journal', () => {
  const root = join(scratch(), 'root')
  return {
    open() {
      const storage = new JournalStorage({ root, port: systemPort })
      opened.push(storage)
      return storage
    },
  }
})
