import { damageCampaign, testCampaign } from '@tidemark/session-persistence/testkit'
import { journalWith } from './journal-subject.ts'

const terms = { durability: 'strict', log: 27 } as const

// A part of all damages; the long run tries each.
testCampaign(
  'damage to a strict journal is refused, or does not matter, in 20,000 places',
  () => damageCampaign(journalWith('strict'), { ...terms, damagesMax: 20_000 }),
  { atLeast: { batches: 27, tries: 19_000, truth: 100, refused: 10_000, snapshot: 100 } },
)

testCampaign(
  'damage to a strict journal that was closed hides nothing, in 10,000 places',
  () => damageCampaign(journalWith('strict'), { ...terms, end: 'closed', damagesMax: 10_000 }),
  { atLeast: { batches: 27, tries: 9_500, truth: 100, refused: 3_000, snapshot: 100 } },
)
