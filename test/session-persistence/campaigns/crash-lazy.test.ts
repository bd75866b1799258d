import { crashCampaign, testCampaign } from '@tidemark/session-persistence/testkit'
import { journalWith } from './journal-subject.ts'

const statesMax = 50_000

testCampaign(
  'a crash of the lazy journal loses nothing that was acknowledged',
  () => crashCampaign(journalWith('lazy'), { durability: 'lazy', statesMax }),
  { atLeast: { states: statesMax, secondLevel: 5_000, stories: 14 } },
)
