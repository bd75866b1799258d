import { Findings, type CampaignResult } from '../finding.ts'
import { Seeded } from '../seeded.ts'
import type { CampaignTerms, Subject } from '../subject.ts'
import { damagesOf, type Damage, type DamageKind } from './damages.ts'
import { Oracle, type DamageOutcome } from './oracle.ts'
import { writeSoundLog, type SoundLog } from './sound-log.ts'

export interface DamageCampaignTerms extends CampaignTerms {
  /** Batches in the log. Default: 27. */
  readonly log?: number
  readonly durability?: 'lazy' | 'strict'
  /** How the log ended: its writer crashed, or closed it. Default: `open`. */
  readonly end?: 'open' | 'closed'
  /** About so many damages, chosen by the seed. Default: all of them. */
  readonly damagesMax?: number
  /** Of these kinds only. Default: all of them. */
  readonly kinds?: readonly DamageKind[]
}

const logBatchesCount = 27

/** Of so many damages one is also met by a claim, and one by a caller who knows where the log ended. */
const claimEvery = 16

/** Damages the files of a log in every way, one at a time, and reads it: the truth, or a refusal. */
export async function damageCampaign(
  subject: Subject,
  terms: DamageCampaignTerms = {},
): Promise<CampaignResult> {
  const { log = logBatchesCount, seed = 1, durability = 'lazy', end = 'open', shard = [0, 1] } = terms
  const findings = new Findings()
  const sound = await writeSoundLog(subject, { batchesCount: log, seed, end })
  for (const problem of sound.problems) findings.add(problem, { seed, damage: 'none' })
  const oracle = new Oracle(subject, sound, durability)
  const tally = new Tally()
  const damages = (): Iterable<Damage> => wantedOf(sound, terms)
  const share = shareOf(damages(), terms)
  let index = -1
  let tries = 0
  for (const damage of damages()) {
    index += 1
    const random = Seeded.of(seed, 'damage', index)
    if (index % shard[1] !== shard[0] || !(random.next() / 0x1_0000_0000 < share)) continue
    if (terms.isOverAtFinding && findings.count > 0) break
    if (tries === terms.triesMax) break
    tries += 1
    const isSampled = random.isOneIn(claimEvery)
    for (const outcome of await outcomesOf(oracle, damage, isSampled)) {
      tally.add(damage, outcome)
      const at = { seed, index, damage: damage.kind, path: damage.path, where: damage.where }
      if (outcome.kind === 'wrong') findings.add(outcome.problem, at)
    }
  }
  findings.refuseUntried(terms, { batches: sound.tails.length, tries })
  return findings.result({ batches: sound.tails.length, tries, ...tally.figures })
}

function* wantedOf(sound: SoundLog, { kinds, seed = 1 }: DamageCampaignTerms): Generator<Damage, void> {
  for (const damage of damagesOf(sound, seed)) if (kinds?.includes(damage.kind) ?? true) yield damage
}

function shareOf(damages: Iterable<Damage>, { damagesMax }: DamageCampaignTerms): number {
  if (damagesMax === undefined) return 1
  let count = 0
  for (const _ of damages) count += 1
  return damagesMax / count
}

async function outcomesOf(oracle: Oracle, damage: Damage, isSampled: boolean): Promise<DamageOutcome[]> {
  const outcomes = [await oracle.read(damage, false)]
  if (isSampled) outcomes.push(await oracle.read(damage, true), await oracle.claim(damage))
  if (await oracle.isLoaded(damage, isSampled)) outcomes.push(await oracle.load(damage))
  return outcomes
}

/** Counts outcomes, together and for each kind of damage. */
class Tally {
  private readonly counts = new Map<string, number>()

  add({ kind }: Damage, outcome: DamageOutcome): void {
    for (const key of ['all', outcome.kind, `${kind}: ${outcome.kind}`]) {
      this.counts.set(key, (this.counts.get(key) ?? 0) + 1)
    }
  }

  get figures(): Record<string, number> {
    return Object.fromEntries(this.counts)
  }
}
