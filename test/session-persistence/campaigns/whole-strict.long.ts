import { damageCampaign, testCampaign } from '@tidemark/session-persistence/testkit'
import { journalWith } from './journal-subject.ts'

const atLeast = { batches: 27, tries: 200_000 }

// Every damage; `npm test` tries a part of them.
testCampaign(
  'every damage to a strict journal is refused, or does not matter',
  () => damageCampaign(journalWith('strict'), { durability: 'strict' }),
  { atLeast },
)

testCampaign(
  'every damage to a strict journal that was closed hides nothing',
  () => damageCampaign(journalWith('strict'), { durability: 'strict', end: 'closed' }),
  { atLeast },
)
