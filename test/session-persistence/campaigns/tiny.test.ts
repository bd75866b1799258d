import {
  SimulatedDisk,
  crashCampaign,
  damageCampaign,
  faultCampaign,
  plantedFaults,
  provePlanted,
  storageContract,
  testCampaign,
  type CampaignResult,
  type Subject,
} from '@tidemark/session-persistence/testkit'
import { describe, expect, it } from 'vitest'
import { TinyStorage, type Flaw } from './tiny-storage.ts'

const terms = { durability: 'strict', isLog: (name: string) => name.startsWith('e') } as const
const subjectWith = (flaw?: Flaw): Subject => ({ open: (port) => new TinyStorage(port, flaw) })
const sound = subjectWith()

const crash = (subject: Subject) =>
  crashCampaign(subject, { ...terms, statesMax: 4_000, isOverAtFinding: true })
const damage = (subject: Subject) =>
  damageCampaign(subject, { ...terms, damagesMax: 3_000, isOverAtFinding: true })
const fault = (subject: Subject) => faultCampaign(subject, { faultsMax: 800, isOverAtFinding: true })

storageContract('the tiny storage', () => {
  const disk = new SimulatedDisk({ pid: process.pid })
  return { open: () => new TinyStorage(disk) }
})

describe('a storage that keeps the contract passes', () => {
  testCampaign('crashes', () => crash(sound), { atLeast: { states: 4_000 } })
  testCampaign('damage', () => damage(sound), { atLeast: { batches: 27, tries: 2_800 } })
  testCampaign('faults', () => fault(sound), { atLeast: { faults: 700, met: 'faults' } })
})

describe('a storage with a flaw is found out', () => {
  const flaws: readonly (readonly [Flaw, (subject: Subject) => Promise<CampaignResult>])[] = [
    ['acknowledges before it syncs', crash],
    ['does not look', crash],
    ['does not sync the folder', crash],
    ['does not sync the root at a claim', crash],
    ['takes zeros for damage', crash],
    ['gives half a batch', crash],
    ['closes nothing', crash],
    ['ignores the head', damage],
    ['counts on whole writes', fault],
  ]

  it.each(flaws)('%s', { timeout: 120_000 }, async (flaw, campaign) => {
    const { findings, findingsCount } = await campaign(subjectWith(flaw))
    expect(findingsCount).toBeGreaterThan(0)
    // Enough to meet it again.
    expect(findings[0]?.at.seed).toBe(1)
  })
})

describe('a fault that is planted is found, and nothing is found without it', () => {
  for (const planted of plantedFaults) {
    testCampaign(planted.name, () => provePlanted(sound, planted, terms))
  }
})

describe('campaigns', () => {
  it('come to the same figures with the same seed, and to others with another', async () => {
    const run = (seed: number) => crashCampaign(sound, { ...terms, seed, statesMax: 300 })
    const first = await run(1)
    expect(await run(1)).toEqual(first)
    expect(await run(2)).not.toEqual(first)
  })

  it.each<[string, () => Promise<CampaignResult>]>([
    ['states', () => crashCampaign(sound, { ...terms, stories: [] })],
    ['states', () => crashCampaign(sound, { ...terms, statesMax: 0 })],
    ['tries', () => damageCampaign(sound, { ...terms, kinds: [] })],
    ['batches', () => damageCampaign(sound, { ...terms, log: 0, damagesMax: 10 })],
    ['faults', () => faultCampaign(sound, { faultsMax: 0 })],
  ])('that tried nothing say so: no %s', async (figure, run) => {
    const { figures, findings, findingsCount } = await run()
    expect(findings.map(({ problem }) => problem.kind)).toEqual(['untried'])
    expect(findingsCount).toBe(1)
    expect(figures[figure]).toBe(0)
  })

  it('say how many states they could not find', async () => {
    const stories = [{ name: 'nothing', chapters: [{ tell: async () => undefined }] }]
    const { figures } = await crashCampaign(sound, { ...terms, stories, statesMax: 10 })
    expect(figures).toMatchObject({ states: 1, statesMissing: 9 })
  })

  it('share their work, and no state is tried twice', async () => {
    const shards = await Promise.all(
      [0, 1, 2].map((index) => damageCampaign(sound, { ...terms, damagesMax: 600, shard: [index, 3] })),
    )
    const whole = await damageCampaign(sound, { ...terms, damagesMax: 600 })
    const sum = shards.reduce((total, { figures }) => total + figures.all!, 0)
    expect(sum).toBe(whole.figures.all)
  })
})
