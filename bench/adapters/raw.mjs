import { createReadStream } from 'node:fs'
import { copyFile, mkdir, open, readdir, rm } from 'node:fs/promises'
import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { System } from './system.mjs'

const tailSizeBytes = 65_536
const headerSizeBytesMax = 4_096

/**
 * The limits of this machine: `JSON.stringify`, one buffered write and one `fdatasync` a turn; `JSON.parse` of every
 * line. Asynchronous, as a host needs it, or synchronous.
 */
export default class Raw extends System {
  static notes = ['no checks, no recovery, no lock: what any log of JSON Lines pays at least']
  lines = []
  created = Date.now()

  constructor({ isSync = false } = {}) {
    super()
    this.isSync = isSync
  }

  async open(folder) {
    this.folder = folder
    await mkdir(folder, { recursive: true })
  }

  async create(id) {
    this.events = []
    await this.close()
    await this.openFile(id)
    const header = JSON.stringify({ type: 'session', id, createdAt: this.created++ })
    await this.write(`${header}\n`)
    await syncPath(this.folder)
  }

  append({ seq, time, type, data }) {
    this.lines.push(JSON.stringify({ seq, time, type, data }) + '\n')
  }

  /** Appends, and keeps the event in memory as a session that lives does. */
  appendLive(event) {
    this.events.push(event)
    this.append(event)
  }

  flush() {
    const text = this.lines.join('')
    this.lines = []
    return this.write(text)
  }

  write(text) {
    if (!this.isSync) return this.writeLater(text)
    writeSync(this.file, text)
    fdatasyncSync(this.file)
    return Promise.resolve()
  }

  async writeLater(text) {
    await this.file.write(Buffer.from(text))
    await this.file.datasync()
  }

  async close() {
    if (this.file === undefined) return
    if (this.isSync) closeSync(this.file)
    else await this.file.close()
    this.file = undefined
  }

  async resume(id) {
    this.events = []
    await this.eachLine(id, (line) => this.events.push(JSON.parse(line)))
    await this.openFile(id)
    return this.events.length
  }

  async parse(id) {
    let count = 0
    await this.eachLine(id, (line) => (count += JSON.parse(line).seq >= 0 ? 1 : 0))
    return count
  }

  countMessages() {
    return this.events.filter(({ type }) => /^(user|assistant)\/message|tool\/result$/.test(type)).length
  }

  /** From the end of the file, in a window that grows until it holds enough lines. */
  async last(id, count) {
    const file = await open(this.pathOf(id))
    try {
      const { size } = await file.stat()
      for (let window = tailSizeBytes; ; window *= 4) {
        const length = Math.min(window, size)
        const { buffer } = await file.read(Buffer.alloc(length), 0, length, size - length)
        const lines = buffer.toString('utf8').split('\n').slice(0, -1).slice(-count)
        if (length === size || buffer.indexOf(lines[0]) > 0) return lines.map((line) => JSON.parse(line))
      }
    } finally {
      await file.close()
    }
  }

  async fork(id, { childId }) {
    await copyFile(this.pathOf(id), this.pathOf(childId))
    await syncPath(this.pathOf(childId))
    await syncPath(this.folder)
    this.childId = childId
  }

  async inherited() {
    let count = 0
    let last = ''
    await this.eachLine(this.childId, (line) => {
      count += 1
      last = line
    })
    await rm(this.pathOf(this.childId)) // the next fork starts from the same store
    return { count, last: JSON.parse(last) }
  }

  held(id) {
    return this.records(id)
  }

  length() {
    return this.events.length
  }

  openTurn() {
    const turn = this.events.findLast(({ type }) => type === 'turn/start' || type === 'turn/end')
    return turn?.type === 'turn/start' ? turn.seq : undefined
  }

  async list(countMax) {
    const names = await readdir(this.folder)
    const headers = []
    for (const name of names) headers.push(await this.readHeader(name))
    return headers
      .sort((a, b) => b.createdAt - a.createdAt)
      .slice(0, countMax)
      .map(({ id }) => id)
  }

  async *records(id) {
    for await (const lines of this.linesOf(id)) yield* lines.map((line) => JSON.parse(line))
  }

  async eachLine(id, visit) {
    for await (const lines of this.linesOf(id)) for (const line of lines) visit(line)
  }

  /** All lines but the header's, as they are read. */
  async *linesOf(id) {
    let rest = Buffer.alloc(0)
    let isHeader = true
    for await (const piece of createReadStream(this.pathOf(id), { highWaterMark: 1_048_576 })) {
      const bytes = rest.length === 0 ? piece : Buffer.concat([rest, piece])
      const lines = []
      let from = isHeader ? bytes.indexOf(10) + 1 : 0
      for (let end = bytes.indexOf(10, from); end >= 0; end = bytes.indexOf(10, from)) {
        lines.push(bytes.toString('utf8', from, end))
        from = end + 1
      }
      yield lines
      isHeader = false
      rest = bytes.subarray(from)
    }
  }

  async openFile(id) {
    this.file = this.isSync ? openSync(this.pathOf(id), 'a') : await open(this.pathOf(id), 'a')
  }

  async readHeader(name) {
    const file = await open(join(this.folder, name))
    try {
      const { buffer } = await file.read(Buffer.alloc(headerSizeBytesMax), 0, headerSizeBytesMax, 0)
      return JSON.parse(buffer.toString('utf8', 0, buffer.indexOf(10)))
    } finally {
      await file.close()
    }
  }

  pathOf(id) {
    return join(this.folder, `${id}.jsonl`)
  }
}

/** A file's content, or a folder's names, on stable storage. */
export async function syncPath(path) {
  const file = await open(path)
  try {
    await file.sync()
  } finally {
    await file.close()
  }
}
