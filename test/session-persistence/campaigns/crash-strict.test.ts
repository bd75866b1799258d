import { crashCampaign, testCampaign } from '@tidemark/session-persistence/testkit'
import { journalWith } from './journal-subject.ts'

testCampaign('a crash of the strict journal loses nothing that was acknowledged', () =>
  crashCampaign(journalWith('strict'), { durability: 'strict', statesMax: 50_000 }),
)
