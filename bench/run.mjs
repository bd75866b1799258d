import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { takeSample } from './sample.mjs'
import { isAskedFor, systems } from './systems.mjs'

const id = 'the-session'
/** Of a session whose last events are looked up. */
const lastSizeMax = 200_000
/** Appends that are timed one by one. */
const latencySizeMax = 100_000
const limits = new Set(['raw', 'raw-24'])

/**
 * All samples of one run, in rounds: each round holds one sample of every system, so that what is compared was
 * measured under the same conditions. A system that fails a task is not asked again, and the run has failed.
 */
export class Run {
  samples = []
  failures = []
  unavailable = new Map()

  /** `report` is told of each sample. */
  constructor(options, report) {
    this.options = options
    this.report = report
  }

  async everything() {
    const { sizes, tasks } = this.options
    await mkdir(this.options.folder, { recursive: true })
    if (tasks.includes('latency')) await this.latency(Math.min(latencySizeMax, Math.max(...sizes)))
    for (const size of sizes) await this.logs(size)
    const lastSize = Math.min(lastSizeMax, Math.max(...sizes))
    if (tasks.includes('last') && !sizes.includes(lastSize)) await this.logs(lastSize, ['last'])
    if (tasks.includes('list')) await this.lists()
  }

  /** Appending one by one leaves nothing that anybody needs. */
  async latency(size) {
    await this.rounds(async (system, round) => {
      const folder = this.folderOf(system, 'latency')
      await this.sample({ task: 'latency', system, size, round, folder })
      await rm(folder, { recursive: true, force: true })
    })
  }

  /** Logs of one size, made anew in each round; the last ones made are what the other tasks read. */
  async logs(size, tasks = this.options.tasks) {
    const folderOf = (system) => this.folderOf(system, size)
    const made = new Map()
    const runs = tasks.includes('append') ? this.options.runs : 1
    await this.rounds(async (system, round) => {
      if (!tasks.some((task) => isAskedFor(system, task))) return
      await rm(folderOf(system), { recursive: true, force: true })
      const { events } = await this.sample({ task: 'append', system, size, round, folder: folderOf(system) })
      if (events !== undefined) made.set(system, events)
    }, runs)
    for (const [system, events] of made) {
      const job = { task: 'verify', system, size, events, round: 0, folder: folderOf(system) }
      if ((await this.sample(job)).events === undefined) made.delete(system)
    }
    for (const task of this.readingTasks(tasks, size))
      await this.rounds(async (system, round) => {
        if (!made.has(system) || (task === 'parse' && !limits.has(system))) return
        await this.sample({ task, system, size, round, events: made.get(system), folder: folderOf(system) })
      })
    for (const system of this.options.peers) await rm(folderOf(system), { recursive: true, force: true })
  }

  /** Those that change the log come last: a resume without snapshots leaves its boundary, and one of the new log. */
  readingTasks(tasks, size) {
    const isForLast = size === Math.min(lastSizeMax, Math.max(...this.options.sizes))
    return ['resume', 'parse', 'last', 'fork', 'cold', 'brackets'].filter(
      (task) => tasks.includes(task) && (task !== 'last' || isForLast),
    )
  }

  async lists() {
    const { sessions } = this.options
    const made = new Set()
    const jobOf = (system) => ({ system, sessions, size: sessions, folder: this.folderOf(system, 'list') })
    await this.rounds(async (system) => {
      await rm(jobOf(system).folder, { recursive: true, force: true })
      const { events } = await this.sample({ task: 'makeList', round: 0, ...jobOf(system) })
      if (events !== undefined) made.add(system)
    }, 1)
    await this.rounds(async (system, round) => {
      if (made.has(system)) await this.sample({ task: 'list', round, ...jobOf(system) })
    })
    for (const system of made) await rm(jobOf(system).folder, { recursive: true, force: true })
  }

  /** The order turns from round to round, so that nobody always follows the same one. */
  async rounds(work, runs = this.options.runs) {
    const { peers } = this.options
    for (let round = 0; round < runs; round++) {
      const at = round % peers.length
      for (const system of [...peers.slice(at), ...peers.slice(0, at)]) await work(system, round)
    }
  }

  /** `events` of the result is undefined where there is none. */
  async sample(job) {
    const { task, system, size, round } = job
    if (!isAskedFor(system, task)) return {}
    const keys = [`${task} ${system}`, `${task} ${system} ${size}`]
    if (keys.some((key) => this.unavailable.has(key))) return {}
    const result = await takeSample({ id, compacts: this.options.compaction, ...job })
    await this.report({ task, system, size, round, ...result })
    if (result.unavailable) this.unavailable.set(keys[0], result.unavailable)
    else if (result.failed) {
      this.failures.push(`${task} of ${size} by ${systems[system].label} ${result.failed}`)
      this.unavailable.set(keys[1], 'failed')
    } else this.samples.push({ task, system, size, round, ...result })
    return result
  }

  folderOf(system, what) {
    return join(this.options.folder, `${system}-${what}`)
  }
}
