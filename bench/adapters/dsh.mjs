import { System } from './system.mjs'

const visible = new Set(['user/message', 'assistant/message', 'tool/result'])
const model = { kind: 'model', provider: 'acme', model: 'acme-large' }

/** The DeepSeek Harness session packages with their JSON Lines storage, as it comes: zstd. */
export default class Dsh extends System {
  listsInOrder = false
  static packages = ['@deepseek-ai/dsh-session', '@deepseek-ai/dsh-session-persistence-jsonl']
  static notes = [
    'needs Node 24',
    'a fork is taken of a session that is already in memory, as the package asks for; the time of its resume is not counted',
    'has no pages: the last events are those of a session that was read whole',
  ]

  async load() {
    const [{ Context }, store, jsonl] = await Promise.all([
      import('@deepseek-ai/cordis'),
      import('@deepseek-ai/dsh-session'),
      import('@deepseek-ai/dsh-session-persistence-jsonl'),
    ])
    this.packages = { Context, store: store.default, jsonl: jsonl.default }
  }

  async open(folder) {
    this.ctx = new this.packages.Context()
    await this.ctx.plugin(this.packages.store)
    await this.ctx.plugin(this.packages.jsonl, { root: folder })
  }

  async create(id) {
    this.session = this.ctx.sessions.create(id, { meta: { cwd: '/srv/project' } })
  }

  append(event) {
    const { type, data } = recordOf(event)
    if (visible.has(type)) this.session.append(type, data, { surfaceOp: 'append' })
    else this.session.append(type, data)
  }

  flush() {
    return this.ctx.sessions.flush(this.session)
  }

  close() {
    return this.ctx.fiber.dispose()
  }

  async resume(id) {
    const prepared = await this.ctx.sessionPersistence.prepare(id)
    this.session = prepared.session
    this.ctx.sessions.enter(this.session)
    this.ctx.sessions.announce(this.session)
    prepared[Symbol.dispose]?.()
    return eventsBefore(this.session).length
  }

  countMessages() {
    return this.session.deriveMessages().length
  }

  async last(id, count) {
    await this.resume(id)
    return eventsBefore(this.session).slice(-count).map(plain)
  }

  async beforeFork(id) {
    await this.resume(id)
  }

  async fork(_id, { childId, through }) {
    this.child = this.ctx.sessions.fork(this.session, through, childId)
    await this.ctx.sessions.flush(this.child)
  }

  async inherited() {
    const events = eventsBefore(this.child)
    return { count: events.length, last: plain(events.at(-1)) }
  }

  length() {
    return this.session.seq
  }

  openTurn() {
    const turn = this.session.events.findLast(({ type }) => type === 'turn/start' || type === 'turn/end')
    return turn?.type === 'turn/start' ? turn.seq : undefined
  }

  async list(countMax) {
    const sessions = await this.ctx.sessionPersistence.list()
    return sessions
      .sort((a, b) => b.createdAt - a.createdAt)
      .slice(0, countMax)
      .map(({ id }) => id)
  }

  async *records(id) {
    await this.resume(id)
    for (const event of eventsBefore(this.session)) yield plain(event)
  }

  recordOf(event) {
    return recordOf(event)
  }
}

const plain = ({ type, data }) => ({ type, data })

/** What was there before this life, which marks its beginning in the log. */
function eventsBefore({ events }) {
  return events.at(-1)?.type === 'session/end-seed' ? events.slice(0, -1) : events
}

/** An event in the vocabulary of these packages. */
function recordOf({ type, data, seq, turn, step }) {
  const to = (content) => ({ type, data: content })
  switch (type) {
    case 'turn/start':
      return to({ turn })
    case 'turn/end':
      return to({ turn, reason: { kind: 'completed' } })
    case 'step/start':
    case 'step/end':
      return to({ turn, step })
    case 'user/message':
      return to({ id: `m${seq}`, role: 'user', content: textOf(data), source: { kind: 'user' } })
    case 'assistant/chunk':
      return to({ turn, step, chunk: { type: 'text-delta', index: 0, text: data.text } })
    case 'assistant/message': {
      const message = { id: `m${seq}`, role: 'assistant', content: textOf(data), source: model }
      return to({ turn, step, message, usage: { inputTokens: 20_000, outputTokens: 200 } })
    }
    case 'tool/call': {
      const { callId, name, arguments: given } = data
      return to({ turn, step, callId, name, arguments: JSON.stringify(given) })
    }
    case 'tool/result': {
      const { callId } = data
      const content = [{ type: 'tool-result', toolCallId: callId, content: textOf(data), isError: false }]
      return to({
        turn,
        step,
        message: { id: `m${seq}`, role: 'user', content, source: { kind: 'tool', callId } },
      })
    }
    default: // of a compaction
      return { type: type.replace('compact/', 'compaction/'), data }
  }
}

const textOf = ({ parts }) => parts.map(({ text }) => ({ type: 'text', text }))
