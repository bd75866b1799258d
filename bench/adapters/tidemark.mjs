import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { diskUse } from '../disk.mjs'
import { NotAvailable, System } from './system.mjs'

const pageCountMax = 10_000
const settlePollMs = 250
const settledAfterPolls = 20
const settlePollsMax = 240

/** The built packages in cordis, composed as a host composes them. */
export default class Tidemark extends System {
  static packages = [
    'cordis',
    '@tidemark/session-core',
    '@tidemark/session-persistence',
    '@tidemark/compaction',
  ]
  compactsItself = true
  time = 0

  constructor({ compress = true } = {}) {
    super()
    this.compress = compress
  }

  async load() {
    const [{ Context }, sessions, persistence, compaction] = await Promise.all([
      import('cordis'),
      import('@tidemark/session-core'),
      import('@tidemark/session-persistence'),
      import('@tidemark/compaction'),
    ])
    this.packages = { Context, sessions, persistence, compaction }
  }

  async open(folder) {
    const { Context, sessions, persistence, compaction } = this.packages
    this.folder = folder
    this.ctx = new Context()
    await this.ctx.plugin(sessions, { now: () => this.time })
    await this.ctx.plugin(persistence, { enabled: true, root: folder, compress: this.compress })
    await this.ctx.plugin(compaction)
  }

  async create(id) {
    if (this.session) await this.ctx.sessions.dispose(this.session)
    this.session = await this.ctx.sessionPersistence.create({ id })
  }

  append({ time, type, data }) {
    this.time = time
    return this.session.append(type, data)
  }

  flush() {
    return this.ctx.sessions.flush(this.session)
  }

  async compact() {
    const { outcome, error } = await this.ctx.compaction.compact(this.session)
    if (outcome !== 'applied') throw new Error(`the compaction ended as ${outcome}: ${error?.code}`)
  }

  async close() {
    await this.ctx.fiber.dispose()
    this.session = undefined
  }

  /** One more lifecycle, in which what the last one left can be packed. */
  async seal(id) {
    await this.open(this.folder)
    await this.resume(id)
    let sizeBytes = -1
    let same = 0
    for (let poll = 0; poll < settlePollsMax && same < settledAfterPolls; poll++) {
      await wait(settlePollMs)
      const now = (await diskUse(this.folder)).sizeBytes
      same = now === sizeBytes ? same + 1 : 0
      sizeBytes = now
    }
    await this.close()
  }

  async resume(id) {
    this.session = await this.ctx.sessionPersistence.resume(id)
    return this.session.log.length - 1 // the boundary
  }

  async dropSnapshots(folder) {
    const sessions = join(folder, 'sessions')
    for (const session of await readdir(sessions)) {
      const names = await readdir(join(sessions, session))
      const snapshots = names.filter((name) => name.startsWith('snapshot-'))
      for (const name of snapshots) await rm(join(sessions, session, name))
    }
  }

  countMessages() {
    return this.session.messages().length
  }

  async last(id, count) {
    const page = await this.page(id, { order: 'backward', countMax: count })
    return page.events.map(recordOf)
  }

  async fork(id, { childId, through }) {
    this.session = await this.ctx.sessionPersistence.fork(id, { id: childId, through })
  }

  async inherited() {
    const { log } = this.session
    const through = log.length - 2
    const [last] = this.session.history
      ? (await this.session.history({ from: through, through, countMax: 1 })).events
      : [log.at(through)]
    return { count: log.length - 1, last: recordOf(last) }
  }

  async *held(_id, count) {
    for await (const event of this.past(count)) yield recordOf(event)
  }

  async *past(count) {
    for (let request = { from: 0, through: count - 1, countMax: pageCountMax }; request;) {
      const { events, next } = await this.session.history(request)
      yield* events
      request = next
    }
  }

  messages() {
    return this.session.messages()
  }

  /** What the model would see if all events of the open session were folded anew. */
  async foldedMessages(count) {
    const events = []
    for await (const event of this.past(count)) events.push(event)
    return this.ctx.sessions.view(this.session.header, events).messages()
  }

  length() {
    return this.session.log.length
  }

  openTurn() {
    return this.session.open(this.packages.sessions.turn).at(-1)?.seq
  }

  async list(countMax) {
    const { sessions } = await this.ctx.sessionPersistence.list({ countMax })
    return sessions.map(({ id }) => id)
  }

  async *records(id) {
    for await (const event of this.stored(id)) yield recordOf(event)
  }

  /** All stored events, by whatever this version has to read them with. */
  async *stored(id) {
    if (typeof this.ctx.sessionPersistence.history !== 'function') {
      const { log } = await this.ctx.sessionPersistence.inspect(id)
      yield* log.range(0, log.length - 1)
      return
    }
    for (let request = { from: 0, countMax: pageCountMax }; request;) {
      const { events, next } = await this.page(id, request)
      yield* events
      request = next
    }
  }

  /** What the model sees after a resume, and what it would see if all events were folded anew. */
  async transcripts(id) {
    const events = []
    for await (const event of this.stored(id)) events.push(event)
    await this.resume(id)
    const folded = this.ctx.sessions.view(this.session.header, events)
    return { resumed: this.session.messages(), folded: folded.messages() }
  }

  page(id, request) {
    const { sessionPersistence } = this.ctx
    if (typeof sessionPersistence.history !== 'function') throw new NotAvailable('history')
    return sessionPersistence.history(id, request)
  }

  recordOf(event) {
    return recordOf(event)
  }
}

/** Tidemark's own compactions differ from the workload's in all but their types. */
function recordOf({ seq, time, type, data }) {
  return { seq, time, type, data }
}
