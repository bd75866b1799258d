export { Persistence } from './persistence.ts'
export type * from './request.ts'
export type { StoredView } from './stored-view.ts'
export { lostMax, lostType, unprovenType, type Salvaged } from './salvage.ts'
export { seqRangesMax, type SeqRange, type SeqsFound } from './seq-ranges.ts'
export type { AuthorizationMode, AuthorizeRequest, StoredOperation } from './authorization.ts'
export type * from './storage.ts'
export type { SessionSummary, SummaryPage } from './summary.ts'
export type { Switch } from './switch.ts'
// What a storage of your own is made of.
export { decodeEvent, encodeEvent, linesOf, type EncodedEvent } from './encoded-event.ts'
export {
  RecentBatches,
  decideAcceptance,
  refuseBrokenSeed,
  type Acceptance,
  type LeaseState,
} from './acceptance.ts'
export { chainDigest } from './digest.ts'
export { foldActivity, noActivity, pageOf, summaryOf, type Activity } from './summary.ts'
export { Config, apply, inject, name } from './plugin.ts'
