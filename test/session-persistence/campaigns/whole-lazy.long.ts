import { damageCampaign, faultCampaign, testCampaign } from '@tidemark/session-persistence/testkit'
import { journalWith } from './journal-subject.ts'

// Every damage and every fault; `npm test` tries a part of them.
testCampaign('every damage to a lazy journal that was closed hides nothing', () =>
  damageCampaign(journalWith('lazy'), { durability: 'lazy', end: 'closed' }),
)

testCampaign('every fault of the disk is told by the lazy journal', () => faultCampaign(journalWith('lazy')))
