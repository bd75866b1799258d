import { fingerprint } from '../crash/fingerprint.ts'
import { cutShort, withNothingUnsynced } from '../crash/states.ts'
import type { DiskCall } from '../disk/fault.ts'
import type { DiskImage } from '../disk/image.ts'
import { SimulatedDisk } from '../disk/simulated-disk.ts'
import { Findings, type CampaignResult, type Problem } from '../finding.ts'
import { Seeded } from '../seeded.ts'
import { judge } from '../story/judge.ts'
import { knowledgeKey, Ledger, type Knowledge } from '../story/ledger.ts'
import { Teller } from '../story/teller.ts'
import type { CampaignTerms, Subject } from '../subject.ts'
import { planned, plansFor, type FaultPlan } from './plans.ts'

export interface FaultCampaignTerms extends CampaignTerms {
  /** About so many faults, chosen by the seed. Default: all of them. */
  readonly faultsMax?: number
}

/** What the medium's failure may be called, when it is met and by whoever goes on after it. */
const codes: readonly string[] = ['STORAGE_FAILED', 'OUTCOME_UNKNOWN']

/**
 * Lets every call of a story fail in every way. Each failure is told as one, nothing is acknowledged in vain,
 * nothing stays open, and the disk, healthy again, passes the rule of a crash.
 */
export async function faultCampaign(
  subject: Subject,
  terms: FaultCampaignTerms = {},
): Promise<CampaignResult> {
  const { seed = 1, shard = [0, 1] } = terms
  const findings = new Findings()
  const figures = { calls: 0, faults: 0, met: 0, refusals: 0, aftermaths: 0 }
  const start = await prepare(subject, seed)
  const aftermath = new Aftermath(subject)
  const healthy = await tell({ subject, start, aftermath })
  figures.calls = healthy.calls.length
  for (const problem of healthy.problems) findings.add(problem, { seed, fault: 'none' })
  const plans = [...plansFor(healthy.calls)]
  const share = (terms.faultsMax ?? Infinity) / plans.length
  for (const [index, plan] of plans.entries()) {
    if (index % shard[1] !== shard[0] || Seeded.of(seed, 'fault', index).next() / 0x1_0000_0000 >= share)
      continue
    if (terms.isOverAtFinding && findings.count > 0) break
    if (figures.faults === terms.triesMax) break
    const { problems, refusalsCount, isMet } = await tell({ subject, start, aftermath, plan })
    figures.faults += 1
    figures.met += isMet ? 1 : 0
    figures.refusals += refusalsCount
    const call = healthy.calls[plan.at]
    const where = `${call?.name} ${call?.path}`
    const at = {
      seed,
      fault: plan.kind.name,
      call: plan.at,
      where,
      times: plan.isForGood ? 'for good' : 'once',
    }
    for (const problem of problems) findings.add(problem, at)
  }
  figures.aftermaths = aftermath.count
  const { calls, faults, met } = figures
  findings.refuseUntried(terms, { calls, faults, met })
  return findings.result(figures)
}

interface Start {
  readonly image: DiskImage
  readonly knowledge: Knowledge
}

/** A disk with a session whose last batch a crash cut short, so that the story can recover it. */
async function prepare(subject: Subject, seed: number): Promise<Start> {
  const disk = new SimulatedDisk({ seed, isRecorded: true })
  const ledger = new Ledger()
  const teller = new Teller({ subject, disk, ledger, seed })
  const lease = await teller.create('torn', [10])
  if (lease) await teller.append(lease, [20])
  const from = disk.changes
  if (lease) await teller.append(lease, [200])
  const { operations, images } = disk.recording
  const point = operations.findIndex(({ name }, index) => index >= from && name === 'write')
  const write = operations[point]
  const image = images[point]
  if (write?.name !== 'write' || image === undefined) return { image: disk.image(), knowledge: ledger.now }
  return { image: cutShort(image, write, write.bytes.length >> 1), knowledge: ledger.at(point) }
}

interface ToldWithFault {
  readonly calls: readonly DiskCall[]
  readonly problems: readonly Problem[]
  readonly refusalsCount: number
  readonly isMet: boolean
}

interface Telling {
  readonly subject: Subject
  readonly start: Start
  readonly aftermath: Aftermath
  readonly plan?: FaultPlan
}

async function tell({ subject, start, aftermath, plan }: Telling): Promise<ToldWithFault> {
  const { image, knowledge } = start
  const disk = new SimulatedDisk({ image })
  const ledger = new Ledger(knowledge)
  const teller = new Teller({ subject, disk, ledger, seed: 2 })
  const calls: DiskCall[] = []
  const meets = plan && planned(plan)
  let isMet = false
  disk.onCall = (call) => {
    const fault = meets?.(call)
    isMet ||= fault !== undefined
    if (plan === undefined) calls.push(call)
    return fault
  }
  teller.isTroubled = plan !== undefined
  await story(teller)
  await teller.close()
  disk.onCall = undefined
  const { problems, refusals } = teller
  const other = refusals.find(({ code }) => !codes.includes(code))
  if (other) teller.report('untyped', `a failure is called ${other.code}: ${other.message}`)
  if (disk.openFiles > 0) teller.report('leaked', `${disk.openFiles} files stay open`)
  if (problems.length === 0) problems.push(...(await aftermath.of(disk.image(), ledger.now)))
  return { calls, problems, refusalsCount: refusals.length, isMet }
}

/** Everything that is done with files, as far as it is not refused. */
async function story(teller: Teller): Promise<void> {
  const first = await teller.create('a')
  if (first) {
    await teller.append(first, [10, 20])
    await teller.append(first, [30])
    await teller.save(first)
    await teller.disk.advance(1_500)
    await teller.release(first)
  }
  teller.reopen()
  const second = first && (await teller.acquire('a'))
  if (second) await teller.append(second, [10, 10])
  if (second) await teller.load('a')
  const torn = await teller.acquire('torn')
  if (torn) await teller.append(torn, [10], torn.recovered)
  const child = second && (await teller.fork('a', 1, 'b'))
  if (child) await teller.append(child, [10])
  if (second) await teller.append(second, [5])
  await teller.disk.advance(0) // what a writer does beside its appends is not the read's doing
  await teller.read('torn')
  await teller.list()
  await teller.verify('torn')
  if (child) await teller.remove('b')
  await teller.disk.advance(1_500)
}

/** What comes after a fault. Several kinds of one call leave the same disk and the same knowledge: one is judged. */
class Aftermath {
  private readonly known = new Map<string, Promise<readonly Problem[]>>()

  constructor(private readonly subject: Subject) {}

  /** How many were judged. */
  get count(): number {
    return this.known.size
  }

  of(image: DiskImage, knowledge: Knowledge): Promise<readonly Problem[]> {
    const key = keyOf(image, knowledgeKey(knowledge))
    const problems = this.known.get(key) ?? this.judge(image, knowledge)
    this.known.set(key, problems)
    return problems
  }

  /** The disk is healthy again: the same rule as after a crash, and once more after a power cut. */
  private async judge(image: DiskImage, knowledge: Knowledge): Promise<readonly Problem[]> {
    const { subject } = this
    const healthy = new SimulatedDisk({ image })
    const { problem, ledger } = await judge({
      subject,
      disk: healthy,
      knowledge,
      seed: 100,
      isThorough: true,
    })
    if (problem) return [problem]
    const later = { image: healthy.image(), knowledge: ledger.now, seed: 200 }
    for (const cut of [{ image, knowledge, seed: 300 }, later]) {
      const disk = new SimulatedDisk({ image: withNothingUnsynced(cut.image) })
      const judged = await judge({ ...cut, subject, disk, isThorough: true })
      if (judged.problem) return [judged.problem]
    }
    return []
  }
}

/** What programs read, what a power cut leaves, and which writes no sync saves any more. */
function keyOf(image: DiskImage, known: string): string {
  const doomed = [...image.nodes].flatMap(([inode, node]) =>
    node.kind === 'file' ? node.writes.map(({ isDoomed }) => `${inode}:${isDoomed}`) : [],
  )
  return [fingerprint(image, known), fingerprint(withNothingUnsynced(image), ''), ...doomed].join()
}
