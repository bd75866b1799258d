import { MemoryStorage } from '@tidemark/session-persistence/memory'
import { storageContract } from '@tidemark/session-persistence/testkit'

// Memory is not shared: every opening is the same storage.
storageContract('memory', () => {
  const storage = new MemoryStorage()
  return { open: () => storage }
})
