import type { StorageCapabilities } from '../storage.ts'
import { commitSizeBytesMax } from './commit.ts'
import { batchSizeBytesMax } from './size.ts'

export const journalCapabilities: StorageCapabilities = {
  isShared: true,
  isDurable: true,
  hasSnapshots: true,
  eventSizeBytesMax: batchSizeBytesMax - commitSizeBytesMax,
  batchSizeBytesMax: batchSizeBytesMax - commitSizeBytesMax,
}
