import { MemoryStorage } from '@tidemark/session-persistence/memory'
import { storageContract } from './storage-contract.ts'

// Memory is not shared: every opening is the same storage.
storageContract('memory', () => {
  const storage = new MemoryStorage()
  return { open: () => storage }
})
