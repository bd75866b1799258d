import { existsSync, mkdirSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { System } from './system.mjs'

/**
 * LangGraph's SQLite saver: one checkpoint an event that holds this event only, which is the cheapest way to have it
 * keep all of them.
 */
export default class LangGraph extends System {
  static packages = ['@langchain/langgraph-checkpoint-sqlite']
  static notes = [
    'its commits are not synced (`synchronous = NORMAL`): one `fdatasync` of the write-ahead log a turn is added',
    'resume and fork concern the newest state only: it gives no history with them',
    'lists no sessions: each checkpoint of each thread would have to be read',
  ]
  appendWaits = true

  async load() {
    const [{ SqliteSaver }, { default: Database }] = await Promise.all([
      import('@langchain/langgraph-checkpoint-sqlite'),
      import('better-sqlite3'),
    ])
    this.packages = { SqliteSaver, Database }
  }

  async open(folder) {
    const { SqliteSaver, Database } = this.packages
    mkdirSync(folder, { recursive: true })
    this.path = join(folder, 'langgraph.db')
    this.database = new Database(this.path)
    this.saver = new SqliteSaver(this.database)
    this.saver.setup()
  }

  async create(id) {
    this.id = id
    this.seq = 0
  }

  append(event) {
    return this.put({ event: this.recordOf(event) }, { source: 'loop', type: event.type })
  }

  async flush() {
    const path = `${this.path}-wal`
    if (!existsSync(path)) return
    const file = await open(path, 'r+')
    try {
      await file.datasync()
    } finally {
      await file.close()
    }
  }

  async close() {
    this.database.close()
  }

  async resume(id) {
    this.id = id
    this.newest = await this.saver.getTuple(this.config())
    this.seq = Number(this.newest.checkpoint.id) + 1
    return this.seq
  }

  async last(id, count) {
    this.id = id
    const records = []
    for await (const tuple of this.saver.list(this.config(), { limit: count }))
      records.unshift(eventIn(tuple))
    return records
  }

  async beforeFork(id) {
    await this.resume(id)
  }

  /** Its own fork: a checkpoint beside the next one, in the same thread. */
  async fork() {
    await this.put(this.newest.checkpoint.channel_values, { source: 'fork', type: 'fork' })
    await this.flush()
  }

  async inherited() {
    const fork = await this.saver.getTuple(this.config())
    const count = this.seq - 1
    // The next fork starts from the same store.
    this.database.prepare('DELETE FROM checkpoints WHERE checkpoint_id = ?').run(fork.checkpoint.id)
    return { count, last: eventIn(fork) }
  }

  length() {
    return this.seq
  }

  async openTurn() {
    const newest = async (type) => {
      const found = this.saver.list(this.config(), { filter: { type }, limit: 1 })
      for await (const tuple of found) return eventIn(tuple).seq
      return -1
    }
    const started = await newest('turn/start')
    return started > (await newest('turn/end')) ? started : undefined
  }

  async *records(id) {
    this.id = id
    const { count } = this.countOf(id)
    for (let seq = 0; seq < count; seq++) yield eventIn(await this.saver.getTuple(this.config(idOf(seq))))
  }

  countOf(id) {
    return this.database.prepare('SELECT count(*) AS count FROM checkpoints WHERE thread_id = ?').get(id)
  }

  async put(values, metadata) {
    const parent = this.seq === 0 ? undefined : idOf(this.seq - 1)
    const checkpoint = {
      v: 4,
      id: idOf(this.seq),
      ts: '2026-01-01T00:00:00.000Z',
      channel_values: values,
      channel_versions: { event: this.seq + 1 },
      versions_seen: {},
    }
    await this.saver.put(this.config(parent), checkpoint, { ...metadata, step: this.seq, parents: {} })
    this.seq += 1
  }

  config(checkpoint) {
    const at = checkpoint === undefined ? {} : { checkpoint_id: checkpoint }
    return { configurable: { thread_id: this.id, checkpoint_ns: '', ...at } }
  }
}

const idOf = (seq) => String(seq).padStart(12, '0')

const eventIn = ({ checkpoint }) => checkpoint.channel_values.event
