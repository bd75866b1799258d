import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import type { Child } from './child.ts'

/** Everything by which a writer changes the disk or takes a lock, and how it looks for others. */
export const calls = [
  'pwrite64',
  'fdatasync',
  'fsync',
  'openat',
  'rename',
  'mkdir',
  'link',
  'unlink',
  'close',
  'getdents64',
  'chmod',
  'bind',
  'listen',
] as const

/** Kills a process when one of its threads makes this call for the n-th time: the call itself is not made. */
export interface KillPoint {
  readonly call: string
  readonly count: number
}

/** A `strace` that is attached to a child. */
export class Trace {
  private constructor(
    private readonly process: ChildProcess,
    private readonly log: string,
  ) {}

  static async attach(child: Child, log: string, kill?: KillPoint): Promise<Trace> {
    const inject = kill && ['-e', `inject=${kill.call}:signal=SIGKILL:when=${kill.count}`]
    const what = ['-f', '-y', '-s', '0', '-e', `trace=${calls.join(',')}`, ...(inject ?? [])]
    return new Trace(await attachTo(child.pid, [...what, '-o', log]), log)
  }

  /** Resolves when the traced process is gone, with the calls that it made. */
  async calls(): Promise<TracedCall[]> {
    if (this.process.exitCode === null && this.process.signalCode === null) await once(this.process, 'exit')
    return parseCalls(readFileSync(this.log, 'utf8'))
  }
}

export interface TracedCall {
  readonly thread: string
  readonly call: string
  /** The names of the files it was about. */
  readonly about: string
}

/** Call entries, in the order in which they were made. */
function parseCalls(log: string): TracedCall[] {
  return log.split('\n').flatMap((line) => {
    const [, thread, call, rest] = /^(\d+) +(\w+)\((.*)/.exec(line) ?? []
    if (thread === undefined || call === undefined || rest === undefined) return []
    const paths = [...rest.matchAll(/<([^>]+)>|"([^"]+)"/g)].map((match) =>
      basename(match[1] ?? match[2] ?? ''),
    )
    return [{ thread, call, about: paths.join(' ') }]
  })
}

/** Resolves when each thread of the process is traced. */
async function attachTo(pid: number, what: readonly string[]): Promise<ChildProcess> {
  const tracer = spawn('strace', [...what, '-p', String(pid)], { stdio: ['ignore', 'ignore', 'pipe'] })
  let said = ''
  await new Promise<void>((resolve, reject) => {
    // It is read to the end: a tracer that cannot say which thread it follows next would die of that.
    tracer.stderr.setEncoding('utf8').on('data', (text: string) => {
      said += text
      if (said.includes('attached')) resolve()
    })
    tracer.on('close', () => reject(new TypeError(`strace did not attach: ${said.trim()}`)))
    tracer.on('error', reject)
  })
  return tracer
}

/** Why this machine cannot trace, if it cannot. */
export async function whyNoTrace(): Promise<string | undefined> {
  if (spawnSync('strace', ['-V']).error) return 'strace is not installed'
  const idle = spawn('cat', { stdio: ['pipe', 'ignore', 'ignore'] }) // lives until it is told otherwise
  try {
    await attachTo(idle.pid!, ['-e', 'trace=none'])
    return undefined
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    return error.message
  } finally {
    idle.kill()
  }
}

/**
 * As many points as asked for, of all that a traced story passes: each kind of call gets as many as another, as long
 * as it has that many, and they are spread over the story. Counts are those of a thread, as `strace` counts.
 */
export function spreadPoints(traced: readonly TracedCall[], countMax: number): KillPoint[] {
  const highest = highestCounts(traced)
  const quotas = sharesOf(highest, countMax)
  return [...highest].flatMap(([call, count]) => {
    const quota = quotas.get(call) ?? 0
    return Array.from({ length: quota }, (_, index) => ({
      call,
      count: 1 + Math.floor(((index + 0.5) * count) / quota),
    }))
  })
}

/** As many points as asked for, at most, at which a traced story does something with files of such names. */
export function pointsAbout(traced: readonly TracedCall[], name: RegExp, countMax: number): KillPoint[] {
  const counts = new Map<string, number>()
  const points = traced.flatMap(({ thread, call, about }) => {
    const count = (counts.get(`${thread} ${call}`) ?? 0) + 1
    counts.set(`${thread} ${call}`, count)
    return about.split(' ').some((each) => name.test(each)) ? [{ call, count }] : []
  })
  const share = Math.max(1, points.length / countMax)
  return points.filter((_, index) => Math.floor(index / share) > Math.floor((index - 1) / share))
}

/** How often the thread that makes a call most often has made it. */
export function highestCounts(traced: readonly TracedCall[]): Map<string, number> {
  const highest = new Map<string, number>()
  const perThread = new Map<string, number>()
  for (const { thread, call } of traced) {
    const count = (perThread.get(`${thread} ${call}`) ?? 0) + 1
    perThread.set(`${thread} ${call}`, count)
    highest.set(call, Math.max(count, highest.get(call) ?? 0))
  }
  return highest
}

/** Divides a number among those who can take some, one each in turn. */
function sharesOf(takers: ReadonlyMap<string, number>, total: number): Map<string, number> {
  const shares = new Map([...takers.keys()].map((name) => [name, 0]))
  for (let left = total, given = -1; left > 0 && given !== left;) {
    given = left
    for (const [name, most] of takers) {
      const share = shares.get(name) ?? 0
      if (left === 0 || share === most) continue
      shares.set(name, share + 1)
      left--
    }
  }
  return shares
}
