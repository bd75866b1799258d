import * as compaction from '@tidemark/compaction'
import * as sessions from '@tidemark/session-core'
import * as persistence from '@tidemark/session-persistence'
import { Context } from 'cordis'

// A host in a process of its own, whose heap its parent bounds: `node large-host.mjs <task> <root> <terms as JSON>`.
const [task, root, json = '{}'] = process.argv.slice(2)
const terms = JSON.parse(json)
const id = 'large'

const ctx = new Context()
await ctx.plugin(sessions)
await ctx.plugin(persistence, { enabled: true, root, ...terms.config })
await ctx.plugin(compaction)
const { sessionPersistence: stored } = ctx

const say = (session, text) =>
  session.append('user/message', { parts: [{ type: 'text', text, author: 'human' }] })

/** Streams in large pieces: what the model sees of them in the end is short. */
async function fill(session, { count, sizeBytes }) {
  const text = 'lorem ipsum '.repeat(Math.ceil(sizeBytes / 12)).slice(0, sizeBytes)
  for (let index = 0; index < count; index++) {
    session.append('assistant/chunk', { kind: 'text', text })
    if (index % 20 < 19) continue
    session.append('assistant/message', { parts: [{ type: 'text', text: `so far: ${index}` }] })
    await session.flush()
  }
}

const tasks = {
  async fill() {
    const session = await stored.create({ id })
    say(session, 'begin')
    await fill(session, terms)
    return { length: session.log.length }
  },

  /** Many small events, of which few are left in what the model sees. */
  async stream() {
    const session = await stored.create({ id })
    say(session, 'begin')
    while (session.log.length < terms.events) {
      for (let index = 0; index < 199; index++)
        session.append('assistant/chunk', { kind: 'text', text: `${session.log.length} lorem ipsum` })
      session.append('assistant/message', {
        parts: [{ type: 'text', text: `so far: ${session.log.length}` }],
      })
      await session.flush()
    }
    return { length: session.log.length }
  },

  /** What a host takes that opens nothing. */
  async nothing() {
    return {}
  },

  /** Many sessions, as whoever lists them finds them. */
  async fillMany() {
    for (let index = 0; index < terms.sessions; index++) {
      const session = await stored.create({ id: `s${index}` })
      say(session, `begin ${index}`)
      await fill(session, terms)
      await ctx.sessions.dispose(session)
    }
    return {}
  },

  async list() {
    const { sessions: listed } = await stored.list({ countMax: 500 })
    return { ok: listed.filter(({ status }) => status === 'ok').length }
  },

  async resume() {
    const session = await stored.resume(id)
    const { base, length } = session.log
    say(session, 'and on')
    await session.flush()
    return { base, length, durableSeq: session.durableSeq, messages: session.messages().length }
  },

  async fork() {
    const session = await stored.fork(id)
    return { length: session.log.length, parent: session.header.parent }
  },

  async verify() {
    const { kind, tail } = await stored.verify(id)
    return { kind, seq: tail.seq }
  },
}

const result = await tasks[task]()
await ctx.fiber.dispose()
const peakMib = process.resourceUsage().maxRSS / 1_024
process.stdout.write(JSON.stringify(terms.isMeasured ? { ...result, peakMib } : result))
