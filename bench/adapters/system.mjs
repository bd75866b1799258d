import { createRequire } from 'node:module'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** What a system cannot do, or cannot do yet: reported in place of a number. */
export class NotAvailable extends Error {}

const require = createRequire(import.meta.url)

/**
 * One system under measurement, in one process, with one open session. What an adapter leaves out is not available.
 *
 * A record is an event in the system's own form: `recordOf(event)` is what has to come back for it. `append` takes
 * `{ seq, time, type, data, turn, step }`, which is fresh, and nobody else's.
 */
export class System {
  /** Whether `append` gives a promise that has to be waited for. */
  appendWaits = false
  /** Whether `compact` leaves events of its own, where others are given the workload's. */
  compactsItself = false
  /** Whether lists come in order also of sessions that were made in the same millisecond. */
  listsInOrder = true
  /** What a reader of the figures should know. */
  static notes = []
  static packages = []

  /** Imports the packages: not part of any figure. */
  async load() {}

  refuseMissing(name) {
    if (this[name] === System.prototype[name]) throw new NotAvailable(name)
  }

  /** `open(folder)`: opens the store in a folder, which may be missing. */
  async open() {
    throw new NotAvailable('open')
  }

  /** `create(id)`: a new session becomes the open one. */
  async create() {
    throw new NotAvailable('create')
  }

  /** `append(event)`: to the open session. */
  append() {
    throw new NotAvailable('append')
  }

  /** Appends to a session that was resumed. */
  appendLive(event) {
    return this.append(event)
  }

  /** Resolves when everything appended is on stable storage. */
  async flush() {
    throw new NotAvailable('flush')
  }

  /** Makes the context smaller; the default records what a compaction would. */
  async compact(events) {
    for (const event of events) {
      const appended = this.append(event)
      if (this.appendWaits) await appended
    }
  }

  async close() {}

  /** `seal(id)`, called after `close`: lets what happens to a closed log in the background happen. */
  async seal() {}

  /** `resume(id)`: makes a stored session the open one. Gives the count of its events, without what resuming itself adds. */
  async resume() {
    throw new NotAvailable('resume')
  }

  /** `dropSnapshots(folder)`: makes the next resume one without a snapshot. */
  async dropSnapshots() {
    throw new NotAvailable('has no snapshots')
  }

  /** The count of messages that the model sees in the open session. */
  countMessages() {
    throw new NotAvailable('messages')
  }

  /** `parse(id)`: reads and parses a whole stored session and keeps nothing of it. Gives the count of its events. */
  async parse() {
    throw new NotAvailable('a raw limit only')
  }

  /** `last(id, count)`: the last records of a stored session that is not open. */
  async last() {
    throw new NotAvailable('last')
  }

  /** `beforeFork(id)`: what a fork needs before it, where a host would have it anyway: not part of the figure. */
  async beforeFork() {}

  /** `fork(id, { childId, through })`: a durable session that holds the events up to and including `through`. */
  async fork() {
    throw new NotAvailable('fork')
  }

  /** `{ count, last }` of what the fork inherited. */
  async inherited() {
    throw new NotAvailable('fork')
  }

  /** The seq, in order of `append`, of the turn that is open in the open session. */
  openTurn() {
    throw new NotAvailable('bracket status')
  }

  /** `list(countMax)`: ids of the newest stored sessions. */
  async list() {
    throw new NotAvailable('list')
  }

  /** `held(id, count)`: the first records of the session that was resumed or forked last, as it gives them. */
  async *held() {
    throw new NotAvailable('held')
  }

  /** `records(id)`: all records of a stored session. */
  async *records() {
    throw new NotAvailable('records')
  }

  /** Where the next event of the open session will stand. */
  length() {
    throw new NotAvailable('length')
  }

  /** What `ask` gives, or undefined where that is not available. */
  ifAvailable(ask) {
    try {
      return ask()
    } catch (error) {
      if (!(error instanceof NotAvailable)) throw error
      return undefined
    }
  }

  recordOf({ seq, time, type, data }) {
    return { seq, time, type, data }
  }
}

export function versionsOf(packages) {
  return Object.fromEntries(packages.map((name) => [name, versionOf(name)]))
}

/** Also of packages that do not export their package.json. */
function versionOf(name) {
  for (const folder of require.resolve.paths(name)) {
    const path = join(folder, name, 'package.json')
    const text = readIfThere(path)
    if (text !== undefined) return JSON.parse(text).version
  }
  throw new Error(`${name} is not installed beside ${dirname(import.meta.url)}`)
}

function readIfThere(path) {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (error.code !== 'ENOENT') throw error
    return undefined
  }
}
