import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { Child, type ChildOptions, type Exit } from './child.ts'
import { listTree } from './listing.ts'
import type { Program } from './program.ts'
import type {
  Job,
  KilledReport,
  OrderlyReport,
  Reports,
  ResumedReport,
  StatelessReport,
  Word,
} from './protocol.ts'

/** What A was told is safe, told on as it happened: the parent believes nothing else of it. */
export interface Told {
  readonly durableSeq: number
  readonly digests: readonly string[]
}

export interface Lived<Report> {
  readonly pid: number
  readonly exit: Exit
  readonly report: Report
}

export interface Story {
  readonly root: string
  readonly told: Told
  readonly killed: Lived<KilledReport>
  readonly resumed: Lived<ResumedReport>
  readonly orderly: Lived<OrderlyReport>
  readonly stateless: Lived<StatelessReport> & { readonly touched: readonly string[] }
  readonly tookMs: number
}

/** Runs the story of one file in a folder of its own. */
export async function runStory(file: string, folder: string, program: Program): Promise<Story> {
  const startedAt = Date.now()
  const root = join(folder, 'store')
  mkdirSync(root, { recursive: true, mode: 0o700 })
  const { told, ...killed } = await liveAndKill(program, { life: 'killed', file, root, facts: [] })
  const facts = killed.report.facts.map(({ text }) => text)
  const resumed = await live(program, { life: 'resumed', file, root, facts })
  const orderly = await live(program, { life: 'orderly', file, root, facts })
  const cwd = join(folder, 'empty')
  mkdirSync(cwd)
  const stateless = await liveWatched(program, { life: 'stateless', file, root, facts }, cwd)
  return { root, told, killed, resumed, orderly, stateless, tookMs: Date.now() - startedAt }
}

type JobOf<Life> = Job & { readonly life: Life }

async function liveAndKill(
  program: Program,
  job: JobOf<'killed'>,
): Promise<Lived<KilledReport> & { told: Told }> {
  const digests: string[] = []
  let durableSeq = -1
  function onWord(word: Word): void {
    if (word.kind !== 'durable') return
    digests.push(...word.digests)
    durableSeq = word.durableSeq
  }
  const child = new Child(program, job, { onWord })
  try {
    const report = await child.report()
    return { pid: child.pid, report, exit: await child.kill(), told: { durableSeq, digests } }
  } finally {
    await child.end()
  }
}

async function live<Life extends keyof Reports>(
  program: Program,
  job: JobOf<Life>,
  options: ChildOptions = {},
): Promise<Lived<Reports[Life]>> {
  const child = new Child(program, job, options)
  try {
    const report = await child.report()
    return { pid: child.pid, report, exit: await child.exit() }
  } finally {
    await child.end()
  }
}

/** Watches the stored sessions and an empty working folder while the process lives. */
async function liveWatched(
  program: Program,
  job: JobOf<'stateless'>,
  cwd: string,
): Promise<Story['stateless']> {
  const watch = (): readonly string[] => [...listTree(job.root), ...listTree(cwd)]
  const before = watch()
  const lived = await live(program, job, { cwd })
  const after = watch()
  const touched = [
    ...after.filter((line) => !before.includes(line)),
    ...before.filter((line) => !after.includes(line)),
  ]
  return { ...lived, touched }
}
