import { crashCampaign, type CrashCampaignTerms } from '../crash/campaign.ts'
import { damageCampaign, type DamageCampaignTerms } from '../damage/campaign.ts'
import { faultCampaign } from '../fault/campaign.ts'
import { Findings, type CampaignResult } from '../finding.ts'
import type { Subject } from '../subject.ts'
import { portFaults } from './at-port.ts'
import { storageFaults } from './at-storage.ts'
import type { PlantedFault } from './planted-fault.ts'

/** Faults that a run of the campaigns must find, so that one that finds nothing says something. */
export const plantedFaults: readonly PlantedFault[] = [...portFaults, ...storageFaults]

/** As in the campaigns. */
export type PlantedTerms = Pick<CrashCampaignTerms, 'seed' | 'durability' | 'isLog' | 'stories'> &
  Pick<DamageCampaignTerms, 'kinds'>

/** Enough for each planted fault, and short. */
const statesMax = 4_000
const damagesMax = 2_500
const faultsMax = 700

type Campaign = PlantedFault['campaign']

interface Sound {
  readonly tries: number
  readonly result: Promise<CampaignResult>
}

/** What the campaigns found in a subject without a fault, as far as they were asked. */
const sound = new WeakMap<Subject, Map<string, Sound>>()

/**
 * Runs a short campaign with a fault planted, and as far as that went also without, once for a subject. Finds
 * nothing when the campaign finds the fault, and nothing without it.
 */
export async function provePlanted(
  subject: Subject,
  fault: PlantedFault,
  terms: PlantedTerms = {},
): Promise<CampaignResult> {
  const findings = new Findings()
  const planted = await run(fault.plant(subject), fault.campaign, terms)
  if (planted.findings.every(({ problem }) => problem.kind === 'untried')) {
    const detail = `the ${fault.campaign} campaign found nothing`
    findings.add({ kind: 'unnoticed', detail }, { planted: fault.name })
  }
  const without = await soundResult(subject, { campaign: fault.campaign, tries: triesOf(planted) }, terms)
  const [first] = without.findings
  if (first) findings.add(first.problem, { ...first.at, planted: 'nothing' })
  return findings.result({ planted: planted.findingsCount, sound: without.findingsCount })
}

interface Part {
  readonly campaign: Campaign
  readonly tries: number
}

async function soundResult(
  subject: Subject,
  { campaign, tries }: Part,
  terms: PlantedTerms,
): Promise<CampaignResult> {
  const results = sound.get(subject) ?? new Map<string, Sound>()
  sound.set(subject, results)
  const stories = terms.stories?.map(({ name }) => name)
  const key = JSON.stringify([campaign, terms.seed, terms.durability, stories, terms.kinds])
  const known = results.get(key)
  if (known && known.tries >= tries) return known.result
  const result = run(subject, campaign, { ...terms, triesMax: tries })
  results.set(key, { tries, result })
  return result
}

/** How far a campaign went. */
function triesOf({ figures: { states, tries, faults } }: CampaignResult): number {
  return states ?? tries ?? faults ?? 0
}

function run(
  subject: Subject,
  campaign: Campaign,
  { isLog, stories, kinds, ...terms }: PlantedTerms & { readonly triesMax?: number },
): Promise<CampaignResult> {
  const shared = { ...terms, isOverAtFinding: true }
  switch (campaign) {
    case 'crash':
      return crashCampaign(subject, {
        ...shared,
        statesMax,
        ...(isLog && { isLog }),
        ...(stories && { stories }),
      })
    case 'damage':
      return damageCampaign(subject, { ...shared, damagesMax, ...(kinds && { kinds }) })
    case 'fault':
      return faultCampaign(subject, { ...shared, faultsMax })
  }
}
