import { crashCampaign, type CrashCampaignTerms } from '../crash/campaign.ts'
import { damageCampaign } from '../damage/campaign.ts'
import { faultCampaign } from '../fault/campaign.ts'
import { Findings, type CampaignResult } from '../finding.ts'
import type { Subject } from '../subject.ts'
import { portFaults } from './at-port.ts'
import { storageFaults } from './at-storage.ts'
import type { PlantedFault } from './planted-fault.ts'

/** Faults that a run of the campaigns must find, so that one that finds nothing says something. */
export const plantedFaults: readonly PlantedFault[] = [...portFaults, ...storageFaults]

/** As in the campaigns. */
export type PlantedTerms = Pick<CrashCampaignTerms, 'seed' | 'durability' | 'isLog'>

/** Enough for each planted fault, and short. */
const statesMax = 4_000
const damagesMax = 2_500
const faultsMax = 700

type Campaign = PlantedFault['campaign']

/** What the campaigns found in a subject without a fault; each is asked once. */
const sound = new WeakMap<Subject, Map<Campaign, Promise<CampaignResult>>>()

/**
 * Runs a short campaign with a fault planted, and, once for a subject, without. Finds nothing when the campaign
 * finds the fault, and nothing else.
 */
export async function provePlanted(
  subject: Subject,
  fault: PlantedFault,
  terms: PlantedTerms = {},
): Promise<CampaignResult> {
  const findings = new Findings()
  const before = await soundResult(subject, fault.campaign, terms)
  const [first] = before.findings
  if (first) findings.add(first.problem, { ...first.at, planted: 'nothing' })
  const planted = await run(fault.plant(subject), fault.campaign, terms)
  if (planted.findingsCount === 0) {
    const detail = `the ${fault.campaign} campaign found nothing`
    findings.add({ kind: 'unnoticed', detail }, { planted: fault.name })
  }
  return findings.result({ planted: planted.findingsCount, sound: before.findingsCount })
}

function soundResult(subject: Subject, campaign: Campaign, terms: PlantedTerms): Promise<CampaignResult> {
  const results = sound.get(subject) ?? new Map<Campaign, Promise<CampaignResult>>()
  sound.set(subject, results)
  const result = results.get(campaign) ?? run(subject, campaign, terms)
  results.set(campaign, result)
  return result
}

function run(subject: Subject, campaign: Campaign, terms: PlantedTerms): Promise<CampaignResult> {
  const { seed = 1, durability = 'lazy' } = terms
  switch (campaign) {
    case 'crash':
      return crashCampaign(subject, { ...terms, statesMax, isOverAtFinding: true })
    case 'damage':
      return damageCampaign(subject, { seed, durability, damagesMax, isOverAtFinding: true })
    case 'fault':
      return faultCampaign(subject, { seed, faultsMax, isOverAtFinding: true })
  }
}
