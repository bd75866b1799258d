import { damageCampaign, testCampaign } from '@tidemark/session-persistence/testkit'
import { journalWith } from './journal-subject.ts'

// Every damage; `npm test` tries a part of them.
testCampaign(
  'every damage to a lazy journal that was closed hides nothing',
  () => damageCampaign(journalWith('lazy'), { durability: 'lazy', end: 'closed' }),
  { atLeast: { batches: 27, tries: 200_000 } },
)
