import type { SessionView } from '@tidemark/session-core'
import type { Rest } from './storage.ts'

/** A stored session as it was when it was read. */
export type StoredView = SessionView & {
  /**
   * The last seq that the storage proves to be on stable storage. What is above it was written and perhaps never
   * acknowledged: a crash may still take it away.
   */
  readonly durableSeq: number
  /**
   * Bytes after the log's last whole batch. `pending`: a writer lives, and may be writing them. `torn`: a crash
   * left them, and the next resume sets them aside and says so.
   */
  readonly rest: Rest | undefined
}
