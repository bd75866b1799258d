import { existsSync } from 'node:fs'
import { mkdir, open, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { System } from './system.mjs'
import { syncPath } from './raw.mjs'

const cwd = '/srv/project'
const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 }
const usage = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2, cost }

/** The session manager of the pi coding agent. */
export default class Pi extends System {
  listsInOrder = false
  static packages = ['@earendil-works/pi-coding-agent']
  static notes = [
    'needs Node 22; measured on Node 24',
    'never syncs by itself: one `fdatasync` a turn is added, so that it is as durable as the others',
    'what is no message is stored as a custom entry',
  ]

  async load() {
    const entry = import.meta.resolve('@earendil-works/pi-coding-agent')
    // The package's index loads the whole agent, of which only this is measured.
    this.SessionManager = (await import(new URL('core/session-manager.js', entry))).SessionManager
  }

  async open(folder) {
    this.folder = folder
    await mkdir(folder, { recursive: true })
  }

  async create(id) {
    this.session = this.SessionManager.create(cwd, this.folder)
    this.session.newSession({ id })
  }

  append(event) {
    const { kind, value } = formOf(event)
    if (kind === 'message') this.session.appendMessage(value)
    else if (kind === 'compaction') this.session.appendCompaction(value, this.session.getLeafId(), 100_000)
    else this.session.appendCustomEntry(event.type, value)
  }

  async flush() {
    const path = this.session.getSessionFile()
    if (!existsSync(path)) return // it begins with the first answer
    const file = await open(path, 'r+')
    try {
      await file.datasync()
    } finally {
      await file.close()
    }
  }

  async resume(id) {
    this.session = this.SessionManager.open(await this.pathOf(id), this.folder)
    return this.session.getEntries().length
  }

  countMessages() {
    return this.session.buildSessionContext().messages.length
  }

  async last(id, count) {
    await this.resume(id)
    return this.session.getEntries().slice(-count).map(plain)
  }

  async beforeFork(id) {
    this.source = await this.pathOf(id)
  }

  async fork() {
    this.child = this.SessionManager.forkFrom(this.source, cwd, this.folder)
    await syncPath(this.child.getSessionFile())
    await syncPath(this.folder)
  }

  async inherited() {
    const entries = this.child.getEntries()
    await rm(this.child.getSessionFile()) // the next fork starts from the same store
    return { count: entries.length, last: plain(entries.at(-1)) }
  }

  length() {
    return this.session.getEntries().length
  }

  /** From the leaf to the parents, by id. */
  openTurn() {
    for (let entry = this.session.getLeafEntry(); entry; entry = this.session.getEntry(entry.parentId)) {
      if (entry.customType === 'turn/end') return undefined
      if (entry.customType === 'turn/start') return entry.data.seq
      if (entry.parentId === null) return undefined
    }
    return undefined
  }

  async list(countMax) {
    const sessions = await this.SessionManager.list(cwd, this.folder)
    return sessions.slice(0, countMax).map(({ id }) => id)
  }

  async *records(id) {
    await this.resume(id)
    for (const entry of this.session.getEntries()) yield plain(entry)
  }

  recordOf(event) {
    const { kind, value } = formOf(event)
    return kind === 'message' ? { message: value } : { type: event.type, data: value }
  }

  async pathOf(id) {
    const names = await readdir(this.folder)
    return join(
      this.folder,
      names.find((name) => name.endsWith(`_${id}.jsonl`)),
    )
  }
}

function plain({ type, message, customType, data, summary }) {
  if (type === 'message') return { message }
  return type === 'compaction' ? { type: 'compact/summary', data: summary } : { type: customType, data }
}

/** An event as a message of pi's, or as an entry of the host's own. */
function formOf({ type, data, seq, time: timestamp }) {
  const message = (value) => ({ kind: 'message', value })
  switch (type) {
    case 'user/message':
      return message({ role: 'user', content: textOf(data), timestamp })
    case 'assistant/message': {
      const from = { api: 'acme', provider: 'acme', model: 'acme-large', usage, stopReason: 'stop' }
      return message({ role: 'assistant', content: textOf(data), ...from, timestamp })
    }
    case 'tool/result': {
      const of = { toolCallId: data.callId, toolName: 'tool', isError: false }
      return message({ role: 'toolResult', ...of, content: textOf(data), timestamp })
    }
    case 'compact/summary':
      return { kind: 'compaction', value: data.text }
    case 'turn/start':
      return { kind: 'custom', value: { seq } }
    default:
      return { kind: 'custom', value: data }
  }
}

const textOf = ({ parts }) => parts.map(({ text }) => ({ type: 'text', text }))
