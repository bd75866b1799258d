import { faultCampaign, testCampaign } from '@tidemark/session-persistence/testkit'
import { journalWith } from './journal-subject.ts'

testCampaign(
  'a fault of the disk is told by the strict journal, and costs nothing that was acknowledged',
  () => faultCampaign(journalWith('strict'), { faultsMax: 1_500 }),
)
