import { faultCampaign, testCampaign } from '@tidemark/session-persistence/testkit'
import { journalWith } from './journal-subject.ts'

testCampaign(
  'every fault of the disk at every call is told by the strict journal, and costs nothing that was acknowledged',
  () => faultCampaign(journalWith('strict')),
  { atLeast: { calls: 500, faults: 3_300, met: 'faults' } },
)
