import { damageCampaign, testCampaign } from '@tidemark/session-persistence/testkit'
import { journalWith } from './journal-subject.ts'

const terms = { durability: 'lazy', log: 27 } as const

testCampaign('damage to a lazy journal is refused, or does not matter', () =>
  damageCampaign(journalWith('lazy'), { ...terms, damagesMax: 30_000 }),
)

testCampaign('damage to a lazy journal that was closed hides nothing', () =>
  damageCampaign(journalWith('lazy'), { ...terms, end: 'closed', damagesMax: 10_000 }),
)
