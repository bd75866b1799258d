import { JournalStorage } from '@tidemark/session-persistence/journal'
import {
  crashCampaign,
  damageCampaign,
  faultCampaign,
  testCampaign,
  type Story,
  type Subject,
} from '@tidemark/session-persistence/testkit'
import { describe } from 'vitest'
import { upTo } from '../batches.ts'

type Durability = 'lazy' | 'strict'
type Teller = Parameters<Story['chapters'][number]['tell']>[0]

/** A journal that rotates with nearly every append, and packs what is sealed. */
const journalWith = (durability: Durability, segmentSizeBytesMax = 900): Subject => ({
  open: (port) => new JournalStorage({ root: '/journal', port, durability, segmentSizeBytesMax }),
})

/** Many short lifecycles, some of them without an event; what they leave is packed and merged. */
async function manyLives(teller: Teller): Promise<void> {
  const first = await teller.create('a', [10])
  if (first === undefined) return
  await teller.release(first)
  for (const life of upTo(22)) {
    teller.reopen()
    const lease = await teller.acquire('a')
    if (lease === undefined) return
    if (life % 3 > 0) await teller.append(lease, [20, life])
    if (life % 5 > 0) await teller.release(lease)
  }
  await teller.close()
}

const lives: readonly Story[] = [
  { name: 'many lives', chapters: [{ tell: manyLives }, { tell: manyLivesAfter }] },
]

/** The same after a crash. */
async function manyLivesAfter(teller: Teller): Promise<void> {
  for (const life of upTo(12)) {
    teller.reopen()
    const lease = await teller.acquire('a')
    if (lease === undefined) return
    await teller.append(lease, [life], lease.recovered)
    await teller.release(lease)
  }
  await teller.close()
}

/** How much of each campaign is run. */
export interface RotationTerms {
  readonly statesMax: number
  readonly livesStatesMax: number
  readonly faultsMax: number
  readonly damagesMax: number
}

export function testRotation({ statesMax, livesStatesMax, faultsMax, damagesMax }: RotationTerms): void {
  describe.each(['lazy', 'strict'] as const)('the %s journal that rotates at every turn', (durability) => {
    testCampaign(
      'loses nothing in a crash',
      () => crashCampaign(journalWith(durability), { durability, statesMax }),
      { atLeast: { states: statesMax } },
    )
    testCampaign(
      'loses nothing in a crash among many lifecycles',
      () =>
        crashCampaign(journalWith(durability, 1_000_000), {
          durability,
          stories: lives,
          statesMax: livesStatesMax,
        }),
      { atLeast: { states: livesStatesMax } },
    )
    testCampaign(
      'tells of each failure of the medium',
      () => faultCampaign(journalWith(durability), { faultsMax }),
      { atLeast: { faults: faultsMax * 0.9, met: 'faults' } },
    )
    const damages = { durability, log: 12, damagesMax } as const
    const atLeast = { batches: 12, tries: damagesMax * 0.9 }
    testCampaign('hides no damage', () => damageCampaign(journalWith(durability), damages), { atLeast })
    testCampaign(
      'hides no damage once it is closed',
      () => damageCampaign(journalWith(durability), { ...damages, end: 'closed' }),
      { atLeast },
    )
  })
}
