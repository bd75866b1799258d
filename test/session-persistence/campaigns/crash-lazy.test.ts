import { crashCampaign, testCampaign } from '@tidemark/session-persistence/testkit'
import { journalWith } from './journal-subject.ts'

testCampaign('a crash of the lazy journal loses nothing that was acknowledged', () =>
  crashCampaign(journalWith('lazy'), { durability: 'lazy', statesMax: 50_000 }),
)
