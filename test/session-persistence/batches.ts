export {
  append,
  appendNext,
  encoded,
  event,
  events,
  headerOf,
  newBatchId,
  newClaim,
  readBack,
  seqsOf,
  upTo,
  type ReadBack,
} from '../../packages/session-persistence/src/testkit/contract/batches.ts'
