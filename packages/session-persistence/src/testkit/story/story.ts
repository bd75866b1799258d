import { crashStates } from '../crash/states.ts'
import type { DiskImage } from '../disk/image.ts'
import type { Recording } from '../disk/recording.ts'
import { SimulatedDisk } from '../disk/simulated-disk.ts'
import type { Problem } from '../finding.ts'
import { Seeded } from '../seeded.ts'
import type { Subject } from '../subject.ts'
import { Ledger, type Knowledge } from './ledger.ts'
import { Teller } from './teller.ts'

/** Something that happens to sessions. Each chapter but the first begins after a crash of the one before. */
export interface Story {
  readonly name: string
  readonly chapters: readonly Chapter[]
}

export interface Chapter {
  readonly tell: (teller: Teller) => Promise<void>
}

/** A chapter as it was told. */
export interface ToldChapter {
  readonly recording: Recording
  readonly ledger: Ledger
  readonly problems: readonly Problem[]
}

/** Tells a story, from its beginning to its end, and records what it does to the disk. */
export async function tellStory(subject: Subject, story: Story, seed: number): Promise<ToldChapter[]> {
  const told: ToldChapter[] = []
  let start: Start = { knowledge: new Map() }
  for (const [index, { tell }] of story.chapters.entries()) {
    const disk = new SimulatedDisk({ seed, isRecorded: true, ...(start.image && { image: start.image }) })
    const ledger = new Ledger(start.knowledge)
    const teller = new Teller({ subject, disk, ledger, seed: seed * 16 + index })
    await tell(teller)
    const chapter = { recording: disk.recording, ledger, problems: teller.problems }
    told.push(chapter)
    start = crashIn(chapter, Seeded.of(seed, story.name, index))
  }
  return told
}

interface Start {
  readonly image?: DiskImage
  readonly knowledge: Knowledge
}

/** States among which the crash that ends a chapter is chosen. */
const endsMax = 400

/** A crash in the last part of a chapter, most often in the middle of something. */
function crashIn({ recording, ledger }: ToldChapter, random: Seeded): Start {
  const from = Math.floor(recording.operations.length / 2)
  const states = [...crashStates(recording, { seed: random.next(), from, statesMax: endsMax })]
  const state = states[random.below(states.length)]
  if (state === undefined) return { knowledge: ledger.now }
  return { image: state.image, knowledge: ledger.at(state.point) }
}
