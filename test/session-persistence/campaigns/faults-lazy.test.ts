import { faultCampaign, testCampaign } from '@tidemark/session-persistence/testkit'
import { journalWith } from './journal-subject.ts'

testCampaign('a fault of the disk is told by the lazy journal, and costs nothing that was acknowledged', () =>
  faultCampaign(journalWith('lazy'), { faultsMax: 1_500 }),
)
