import { join } from 'node:path'
import { JournalStorage, systemPort } from '@tidemark/session-persistence/journal'
import { storageContract, type Place } from '@tidemark/session-persistence/testkit'
import { afterEach } from 'vitest'
import { scratch } from '../scratch.ts'

const opened: JournalStorage[] = []
afterEach(async () => {
  for (const storage of opened.splice(0)) await storage.close()
})

function placeWith(options: { readonly segmentSizeBytesMax?: number } = {}): () => Place {
  return () => {
    const root = join(scratch(), 'root')
    return {
      open() {
        const storage = new JournalStorage({ root, port: systemPort, ...options })
        opened.push(storage)
        return storage
      },
    }
  }
}

storageContract('journal', placeWith())

// What is sealed is packed.
storageContract('journal that rotates with nearly every append', placeWith({ segmentSizeBytesMax: 900 }))
