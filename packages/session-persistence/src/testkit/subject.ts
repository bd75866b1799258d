import type { JournalPort } from '../journal/port.ts'
import type { SessionStorage } from '../storage.ts'

/** A storage to be tried: made on a port, at a place of its own that is always the same. */
export interface Subject {
  open(port: JournalPort): SessionStorage
}

/** What all campaigns take. The same seed means the same campaign. */
export interface CampaignTerms {
  readonly seed?: number
  /** One of several runs that share the work: `[0, 4]` is the first of four. */
  readonly shard?: readonly [index: number, count: number]
  /** End at the first finding. */
  readonly isOverAtFinding?: boolean
  /** End after so many tries, however many the campaign was laid out for. */
  readonly triesMax?: number
}
