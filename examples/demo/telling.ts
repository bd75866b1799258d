import { availableParallelism } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { checkStory } from './checks.ts'
import type { Program } from './program.ts'
import type { Outcome, Readable } from './report.ts'
import { runStory } from './story.ts'

/** Stories told at the same time; each has one process at a time, and waits for the disk now and then. */
const parallelMax = Math.min(6, availableParallelism() + 1)

export interface Stage {
  readonly program: Program
  /** Each story has a folder of its own in here. */
  readonly folder: string
  /** Called in the order of the files, as soon as that is possible. */
  readonly onTold: (outcome: Outcome) => void
}

/** Tells the stories of all files, side by side. */
export async function tellAll(candidates: readonly Readable[], stage: Stage): Promise<readonly Outcome[]> {
  const outcomes: Outcome[] = []
  let next = 0
  let toldCount = 0
  async function work(): Promise<void> {
    for (let index = next++; index < candidates.length; index = next++) {
      const candidate = candidates[index] as Readable
      outcomes[index] = await tell(
        candidate,
        join(stage.folder, folderName(candidate.file, index)),
        stage.program,
      )
      for (let told = outcomes[toldCount]; told !== undefined; told = outcomes[++toldCount])
        stage.onTold(told)
    }
  }
  await Promise.all(Array.from({ length: Math.min(parallelMax, candidates.length) }, work))
  return outcomes
}

async function tell(candidate: Readable, folder: string, program: Program): Promise<Outcome> {
  try {
    const story = await runStory(resolve(candidate.file), folder, program)
    return { kind: 'told', candidate, story, checks: checkStory(story), folder }
  } catch (error) {
    const reason = error instanceof Error ? error.message : 'something was thrown that is no error'
    return { kind: 'broken', candidate, reason, folder }
  }
}

function folderName(file: string, index: number): string {
  const name = basename(file).replace(/\.jsonl$/, '')
  return `${String(index + 1).padStart(2, '0')}-${name.replace(/[^\w.-]/g, '_').slice(0, 60)}`
}
