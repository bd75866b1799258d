import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { System } from './system.mjs'

const schema = `
CREATE TABLE IF NOT EXISTS session (id TEXT PRIMARY KEY, created INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS event (
  session TEXT NOT NULL, seq INTEGER NOT NULL, time INTEGER NOT NULL, type TEXT NOT NULL, data TEXT NOT NULL,
  PRIMARY KEY (session, seq)
) WITHOUT ROWID;`

/** better-sqlite3, write-ahead log, `synchronous = FULL`, one transaction a turn. */
export default class Sqlite extends System {
  static packages = ['better-sqlite3']
  static notes = ['synchronous by its nature: the event loop stands still while it syncs']
  rows = []
  seq = 0
  created = 0

  async load() {
    this.Database = (await import('better-sqlite3')).default
    new this.Database(':memory:').close() // loads the native part
  }

  async open(folder) {
    mkdirSync(folder, { recursive: true })
    this.database = new this.Database(join(folder, 'log.db'))
    this.database.pragma('journal_mode = WAL')
    this.database.pragma('synchronous = FULL')
    this.database.exec(schema)
    const insert = this.database.prepare('INSERT INTO event VALUES (?, ?, ?, ?, ?)')
    this.insertAll = this.database.transaction((rows) => {
      for (const row of rows) insert.run(this.id, ...row)
    })
  }

  async create(id) {
    this.id = id
    this.seq = 0
    this.database.prepare('INSERT INTO session VALUES (?, ?)').run(id, this.created++)
  }

  append({ time, type, data }) {
    this.rows.push([this.seq++, time, type, JSON.stringify(data)])
  }

  async flush() {
    const { rows } = this
    this.rows = []
    if (rows.length > 0) this.insertAll(rows)
  }

  async close() {
    this.database.close()
  }

  async resume(id) {
    this.id = id
    this.events = [...this.select(id)]
    this.seq = this.events.length
    return this.seq
  }

  countMessages() {
    return this.events.filter(({ type }) => /^(user|assistant)\/message|tool\/result$/.test(type)).length
  }

  async last(id, count) {
    const last = 'SELECT seq, time, type, data FROM event WHERE session = ? ORDER BY seq DESC LIMIT ?'
    return this.database.prepare(last).all(id, count).map(eventOf).reverse()
  }

  async fork(id, { childId, through }) {
    const copy = 'INSERT INTO event SELECT ?, seq, time, type, data FROM event WHERE session = ? AND seq <= ?'
    this.database.transaction(() => {
      this.database.prepare('INSERT INTO session VALUES (?, ?)').run(childId, Date.now())
      this.database.prepare(copy).run(childId, id, through)
    })()
    this.childId = childId
  }

  async inherited() {
    const count = this.database.prepare('SELECT count(*) AS count FROM event WHERE session = ?')
    const [last] = await this.last(this.childId, 1)
    const inherited = { ...count.get(this.childId), last }
    // The next fork starts from the same store.
    this.database.prepare('DELETE FROM event WHERE session = ?').run(this.childId)
    this.database.prepare('DELETE FROM session WHERE id = ?').run(this.childId)
    return inherited
  }

  length() {
    return this.seq
  }

  openTurn() {
    this.find ??= this.database.prepare(
      'SELECT seq FROM event WHERE session = ? AND type = ? ORDER BY seq DESC LIMIT 1',
    )
    const ended = this.find.get(this.id, 'turn/end')?.seq ?? -1
    const pending = this.rows.findLast((row) => row[2] === 'turn/start')?.[0]
    const started = pending ?? this.find.get(this.id, 'turn/start')?.seq
    return started > ended ? started : undefined
  }

  async list(countMax) {
    const page = 'SELECT id FROM session ORDER BY created DESC LIMIT ?'
    return this.database
      .prepare(page)
      .all(countMax)
      .map(({ id }) => id)
  }

  *records(id) {
    yield* this.select(id)
  }

  *select(id) {
    const all = 'SELECT seq, time, type, data FROM event WHERE session = ? ORDER BY seq'
    for (const row of this.database.prepare(all).iterate(id)) yield eventOf(row)
  }
}

const eventOf = ({ seq, time, type, data }) => ({ seq, time, type, data: JSON.parse(data) })
