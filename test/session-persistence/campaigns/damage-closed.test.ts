import { damageCampaign, testCampaign } from '@tidemark/session-persistence/testkit'
import { journalWith } from './journal-subject.ts'

testCampaign('damage to a lazy journal that was closed hides nothing', () =>
  damageCampaign(journalWith('lazy'), { durability: 'lazy', log: 27, end: 'closed', damagesMax: 10_000 }),
)
