import type { Recording } from '../disk/recording.ts'
import { SimulatedDisk } from '../disk/simulated-disk.ts'
import { Findings, type CampaignResult, type Finding } from '../finding.ts'
import { Seeded } from '../seeded.ts'
import { judge } from '../story/judge.ts'
import { knowledgeKey, type Knowledge } from '../story/ledger.ts'
import { stories } from '../story/stories.ts'
import { tellStory, type Story, type ToldChapter } from '../story/story.ts'
import type { CampaignTerms, Subject } from '../subject.ts'
import { fingerprint } from './fingerprint.ts'
import { crashStates, wholeChoice, withNothingUnsynced, type CrashState, type CrashTerms } from './states.ts'

export interface CrashCampaignTerms extends CampaignTerms {
  /** States to try, over all shards. Stories are told anew, with other sizes, until there are as many. */
  readonly statesMax?: number
  /** What the subject promises. `strict`: what was not written of an append may also be garbage. */
  readonly durability?: 'lazy' | 'strict'
  /** The files that hold appends, by their names. Default: `.jsonl`. */
  readonly isLog?: (name: string) => boolean
  readonly stories?: readonly Story[]
}

/**
 * Between any two operations, and in one of so many other states, the storage is crashed again while it recovers,
 * in so many ways.
 */
const secondEvery = 96
const secondsMax = 24

/** How often stories are told anew; each time is about 50,000 states. */
const roundsMax = 64

/**
 * Crashes a storage in every way in the middle of stories, opens it again, and compares what is there with what
 * its callers were told.
 */
export async function crashCampaign(
  subject: Subject,
  terms: CrashCampaignTerms = {},
): Promise<CampaignResult> {
  return new CrashCampaign(subject, terms).run()
}

type At = Finding['at']

/** A state's own number, what was known when it came to be, and where that was. */
interface Scene {
  readonly number: number
  readonly knowledge: Knowledge
  readonly at: At
}

class CrashCampaign {
  private readonly findings = new Findings()
  private readonly seen = new Set<string>()
  private readonly counts = { states: 0, secondLevel: 0, duplicates: 0, stories: 0, operations: 0 }
  private readonly seed: number
  private readonly statesMax: number
  private readonly shard: readonly [number, number]

  constructor(
    private readonly subject: Subject,
    private readonly terms: CrashCampaignTerms,
  ) {
    this.seed = terms.seed ?? 1
    this.shard = terms.shard ?? [0, 1]
    this.statesMax = Math.ceil((terms.statesMax ?? 20_000) / this.shard[1])
  }

  async run(): Promise<CampaignResult> {
    for (let round = 0; round < roundsMax && !this.isOver; round++) {
      const told = await this.tell(round)
      for (const [index, { chapter, at }] of told.entries()) {
        await this.crashIn(chapter, at, told.length - index)
        if (this.isOver) break
      }
    }
    const { states } = this.counts
    this.findings.refuseUntried(this.terms, { states })
    // Over before there were as many as were wanted: the stories have no more that differ.
    const statesMissing = this.isOver ? 0 : this.statesMax - states
    return this.findings.result({ ...this.counts, statesMissing })
  }

  private get isOver(): boolean {
    const { isOverAtFinding, triesMax = Infinity } = this.terms
    if (isOverAtFinding && this.findings.count > 0) return true
    return this.counts.states >= Math.min(this.statesMax, triesMax)
  }

  private async tell(round: number): Promise<{ chapter: ToldChapter; at: At }[]> {
    const told: { chapter: ToldChapter; at: At }[] = []
    for (const story of this.terms.stories ?? stories) {
      const seed = this.seed * 1_000 + round
      for (const [index, chapter] of (await tellStory(this.subject, story, seed)).entries()) {
        const at = { seed: this.seed, round, story: story.name, chapter: index }
        this.counts.stories += 1
        this.counts.operations += chapter.recording.operations.length
        for (const problem of chapter.problems) this.findings.add(problem, { ...at, choice: 'no crash' })
        told.push({ chapter, at })
      }
    }
    return told
  }

  /** Crashes in one chapter, leaving a fair share of the states to those that follow. */
  private async crashIn({ recording, ledger }: ToldChapter, at: At, chaptersLeft: number): Promise<void> {
    const budget = (this.statesMax - this.counts.states) / chaptersLeft
    const points = recording.images.length
    const seconds = Math.max(1, Math.min(secondsMax, Math.floor((budget * 0.4) / points)))
    const firsts = Math.max(budget * 0.6, budget - seconds * points) * this.shard[1]
    const states = crashStates(recording, { ...this.crashTerms, seed: this.seed, statesMax: firsts })
    for (const state of states) {
      if (this.isOver) return
      const knowledge = ledger.at(state.point)
      const number = this.turnOf(state, knowledge)
      if (number === undefined) continue
      this.counts.states += 1
      const scene = { number, knowledge, at: placeOf(recording, state, at) }
      const isCrashedTwice = state.choice === wholeChoice || (number >>> 16) % secondEvery === 0
      if (isCrashedTwice) await this.crashTwice(state, scene, seconds)
      else await this.judgeState(state, scene)
    }
  }

  private get crashTerms() {
    const { durability, isLog = (name: string) => name.endsWith('.jsonl') } = this.terms
    return durability === 'strict' ? { hasGarbage: isLog } : {}
  }

  /** A number for a state that is this shard's to try; `undefined` for another's, and for one that was tried. */
  private turnOf(state: CrashState, knowledge: Knowledge): number | undefined {
    const number = this.numberOf(state, knowledge)
    const [index, count] = this.shard
    return number !== undefined && number % count === index ? number : undefined
  }

  /** Names a state among all; `undefined` when it was met before. */
  private numberOf({ image }: CrashState, knowledge: Knowledge): number | undefined {
    const key = fingerprint(image, knowledgeKey(knowledge))
    if (this.seen.has(key)) {
      this.counts.duplicates += 1
      return undefined
    }
    this.seen.add(key)
    return Seeded.of(this.seed, key).next()
  }

  private async judgeState({ image }: CrashState, { number, knowledge, at }: Scene): Promise<void> {
    const disk = new SimulatedDisk({ image })
    const { problem } = await judge({ subject: this.subject, disk, knowledge, seed: number })
    if (problem) this.findings.add(problem, at)
  }

  /** Judges a state, and crashes while that is going on. */
  private async crashTwice({ image }: CrashState, scene: Scene, statesMax: number): Promise<void> {
    const disk = new SimulatedDisk({ image, isRecorded: true })
    const { number: seed, knowledge, at } = scene
    const { problem, ledger } = await judge({
      subject: this.subject,
      disk,
      knowledge,
      seed,
      isThorough: true,
    })
    if (problem) return this.findings.add(problem, at)
    const { recording } = disk
    for (const state of secondsOf(recording, { ...this.crashTerms, seed, statesMax })) {
      const known = ledger.at(state.point)
      const number = this.numberOf(state, known)
      if (this.isOver || number === undefined) continue
      this.counts.states += 1
      this.counts.secondLevel += 1
      const where = { 'operation 2': state.point, 'kind 2': state.kind, 'choice 2': state.choice }
      await this.judgeState(state, { number, knowledge: known, at: { ...at, ...where } })
    }
  }
}

function placeOf({ operations }: Recording, { point, kind, choice }: CrashState, at: At): At {
  const operation = operations[point]
  const where = operation ? `${operation.name} ${operation.path}` : 'the end'
  return { ...at, operation: point, where, kind, choice }
}

/** Its end without anything that was not synced, and about so many others. */
function secondsOf(recording: Recording, terms: CrashTerms & { readonly statesMax: number }): CrashState[] {
  const random = Seeded.of(terms.seed, 'seconds')
  const states = [...crashStates(recording, terms)]
  const share = terms.statesMax / states.length
  const chosen = states.filter(() => random.next() / 0x1_0000_0000 < share)
  return [...powerCut(recording), ...chosen]
}

/** The end of a recording without anything that was not synced. */
function powerCut({ operations, images }: Recording): CrashState[] {
  const last = images.at(-1)
  if (last === undefined) return []
  return [{ kind: 'power', point: operations.length, choice: 'nothing', image: withNothingUnsynced(last) }]
}
