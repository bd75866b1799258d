import { damageCampaign, testCampaign } from '@tidemark/session-persistence/testkit'
import { journalWith } from './journal-subject.ts'

// A part of all damages; the long run tries each.
testCampaign(
  'damage to a lazy journal that was closed hides nothing, in 10,000 places',
  () =>
    damageCampaign(journalWith('lazy'), { durability: 'lazy', log: 27, end: 'closed', damagesMax: 10_000 }),
  { atLeast: { batches: 27, tries: 9_500, truth: 100, refused: 3_000, snapshot: 100 } },
)
