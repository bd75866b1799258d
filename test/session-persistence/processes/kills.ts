import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { Child } from './child.ts'
import type { Limits } from './child-host.ts'
import { examine, type Findings } from './examine.ts'
import { told } from './line.ts'
import { Trace, highestCounts, type KillPoint, type TracedCall } from './trace.ts'

export interface Killed {
  readonly point: KillPoint
  /** Whether it died there: a writer that lives on, or dies elsewhere, tests nothing. */
  readonly isHit: boolean
  /** The names that it left. */
  readonly names: readonly string[]
  readonly findings: Findings
}

export interface CutShort {
  /** What the writer was refused with. */
  readonly codes: readonly string[]
  readonly findings: Findings
}

/** The calls of some lives of a story that is not killed. */
export async function probe(folder: string, livesMax: number, limits?: Limits): Promise<TracedCall[]> {
  const root = join(folder, 'probed')
  const child = new Child('story', { root, name: 'story', livesMax, ...(limits && { limits }) })
  await child.ready()
  const trace = await Trace.attach(child, join(folder, 'probed.log'))
  child.go()
  await child.until((lines) => told(lines, 'over').length > 0)
  await child.kill()
  return trace.calls()
}

/** In an empty folder, kills an endless story at this point, and examines what it left. */
export async function killAt(folder: string, point: KillPoint, limits?: Limits): Promise<Killed> {
  const root = join(folder, 'root')
  const child = new Child('story', { root, name: 'story', ...(limits && { limits }) })
  await child.ready()
  const trace = await Trace.attach(child, join(folder, 'calls.log'), point)
  child.go()
  await child.gone()
  const isHit =
    child.endedBy === 'SIGKILL' && highestCounts(await trace.calls()).get(point.call) === point.count
  // It may have died before it made anything.
  const names = existsSync(root) ? readdirSync(root, { recursive: true }).map(String) : []
  return { point, isHit, names, findings: await examine(root, child.lines) }
}

/** In an empty folder, a writer that may have no longer file: the batch that would be longer is written in part. */
export async function cutShortAt(folder: string, sizeBytesMax: number): Promise<CutShort> {
  const root = join(folder, 'root')
  const child = new Child('story', { root, name: 'story' })
  await child.ready()
  const { status, stderr } = spawnSync('prlimit', ['--pid', String(child.pid), `--fsize=${sizeBytesMax}`])
  if (status !== 0) throw new TypeError(`prlimit: ${String(stderr)}`)
  child.go()
  await child.gone()
  const codes = told(child.lines, 'refused').map(({ code }) => code)
  return { codes, findings: await examine(root, child.lines) }
}

/** Why this machine cannot limit the files of a process, if it cannot. */
export function whyNoLimits(): string | undefined {
  return spawnSync('prlimit', ['-V']).error ? 'prlimit is not installed' : undefined
}

/** Does the work for each, two at a time, and keeps the order. */
export async function inLanes<T, R>(
  items: readonly T[],
  work: (item: T, index: number) => Promise<R>,
): Promise<R[]> {
  const results: R[] = []
  const waiting = [...items.entries()]
  const lane = async (): Promise<void> => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const [index, item] = next
      results[index] = await work(item, index)
    }
  }
  await Promise.all([lane(), lane()])
  return results
}
