import { crashCampaign, testCampaign } from '@tidemark/session-persistence/testkit'
import { journalWith } from './journal-subject.ts'

testCampaign('a crash of the strict journal loses nothing that was acknowledged, share 2 of 2', () =>
  crashCampaign(journalWith('strict'), { durability: 'strict', statesMax: 50_000, shard: [1, 2] }),
)
