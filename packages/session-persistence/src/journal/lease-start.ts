import type { SessionHeader, SessionRecovered } from '@tidemark/session-core'
import type { RecentBatches } from '../acceptance.ts'
import type { Begun } from './beginning.ts'
import type { SessionLock } from './lock.ts'
import type { LogActivity } from './log-activity.ts'
import type { OwnSegment } from './own-segment.ts'

/** A lease as it begins: its segment holds a header and a first batch, synced and looked at. */
export interface LeaseStart extends Begun {
  readonly own: OwnSegment
  readonly lock: SessionLock
  readonly session: SessionHeader
  readonly recovered: readonly SessionRecovered[]
  readonly recent: RecentBatches
  readonly activity: LogActivity
  /** The digest of the empty log: what it began as. */
  readonly log: string
}
