import { damageCampaign, testCampaign } from '@tidemark/session-persistence/testkit'
import { journalWith } from './journal-subject.ts'

const terms = { durability: 'strict', log: 27 } as const

testCampaign('damage to a strict journal is refused, or does not matter', () =>
  damageCampaign(journalWith('strict'), { ...terms, damagesMax: 20_000 }),
)

testCampaign('damage to a strict journal that was closed hides nothing', () =>
  damageCampaign(journalWith('strict'), { ...terms, end: 'closed', damagesMax: 10_000 }),
)
