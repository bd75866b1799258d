import { damageCampaign, testCampaign } from '@tidemark/session-persistence/testkit'
import { journalWith } from './journal-subject.ts'

testCampaign(
  'every damage to a lazy journal is refused, or does not matter, share 1 of 2',
  () => damageCampaign(journalWith('lazy'), { durability: 'lazy', log: 27, shard: [0, 2] }),
  { atLeast: { batches: 27, tries: 100_000, truth: 1_000, residue: 100, refused: 50_000, snapshot: 1_000 } },
)
