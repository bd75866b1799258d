/**
 * One host, all plugins, in a process of its own: `node story.mjs <cordis package> <root>`.
 * Prints one JSON line of facts that the test looks at.
 */
import { isSession, turn } from '@tidemark/session-core'
import * as sessionCore from '@tidemark/session-core'
import * as persistence from '@tidemark/session-persistence'
import * as compaction from '@tidemark/compaction'

const [packageName, root] = process.argv.slice(2)
const { Context } = await import(packageName)
const ctx = new Context()
const log = []
const errors = []
ctx.logger.exporter({
  levels: { default: 0 },
  export: (message) => errors.push(message.args.map(String).join(' ')),
})

const core = await ctx.plugin(sessionCore)
const store = await ctx.plugin(persistence, { enabled: true, root })
const compact = await ctx.plugin(compaction)

for (const event of ['created', 'disposed']) {
  ctx.on(`tidemark/${event}`, (session) =>
    log.push(`${event} ${isSession(session) ? session.id : 'foreign'}`),
  )
}

const host = { session: undefined, lives: 0 }
const app = await ctx.plugin({
  name: 'app',
  inject: ['sessions', 'sessionPersistence'],
  async apply(inner) {
    const stored = await inner.sessionPersistence.list()
    const known = stored.sessions.some(({ id }) => id === 'main')
    host.session = await (known
      ? inner.sessionPersistence.resume('main')
      : inner.sessionPersistence.create({ id: 'main' }))
    host.lives += 1
  },
})

function say(text, time) {
  host.session.append('turn/start', {}, { time })
  host.session.append('user/message', { parts: [{ type: 'text', text, author: 'human' }] })
  host.session.append('assistant/message', {
    parts: [{ type: 'text', text: `Heard: ${text}. ${'And more. '.repeat(40)}` }],
  })
  host.session.append('turn/end', { reason: 'completed' })
}

const boundaries = (session) => [...session.log].filter(({ type }) => type === 'session/resumed').length
const facts = {}

for (let round = 0; round < 12; round++) say(`round ${round}`)
const receipt = await ctx.sessions.flush(host.session)
facts.stored = receipt.kind === 'stored' && receipt.durableSeq === host.session.log.length - 1

host.session.append('turn/start', {})
const child = await ctx.sessionPersistence.fork(host.session, { id: 'child' })
facts.forkOrphans = child
  .open(turn)
  .map(({ status }) => status)
  .join()
facts.parentLive = host.session
  .open(turn)
  .map(({ status }) => status)
  .join()
host.session.append('turn/end', { reason: 'interrupted' })

ctx.compaction.pin(host.session, { key: 'rule', text: 'never push on a Friday' })
const before = JSON.stringify(host.session.messages()).length
facts.compacted = (await ctx.compaction.compact(host.session)).outcome
facts.smaller = JSON.stringify(host.session.messages()).length < before
facts.pinned = JSON.stringify(host.session.messages()).includes('never push on a Friday')

// Unload and reload each plugin while the session is live.
await compact.dispose()
say('without compaction')
await ctx.plugin(compaction)
facts.compactedAgain = (await ctx.compaction.compact(host.session)).outcome

const transcript = JSON.stringify(host.session.messages())
const length = host.session.log.length
await store.dispose()
facts.appendAfterStoreGone = tryAppend(host.session)
await ctx.plugin(persistence, { enabled: true, root })
await app.await()
facts.livesAfterStore = host.lives
facts.boundariesAfterStore = boundaries(host.session)
facts.sameTranscript = JSON.stringify(host.session.messages()) === transcript
facts.sameLength = host.session.log.length === length + 1

say('after the reload of persistence')
await ctx.sessions.flush(host.session)
await core.dispose()
await ctx.plugin(sessionCore)
await app.await()
facts.livesAfterCore = host.lives
facts.boundariesAfterCore = boundaries(host.session)
facts.persistedThroughCore = [...host.session.log].some(
  ({ type, data }) => type === 'user/message' && data.parts[0].text === 'after the reload of persistence',
)

await app.dispose()
facts.sessionsLeft = [...ctx.sessions].map(({ id }) => id)
facts.created = log
  .filter((line) => line.startsWith('created'))
  .sort()
  .join()
facts.disposed = log
  .filter((line) => line.startsWith('disposed'))
  .sort()
  .join()
facts.errors = errors
console.log(JSON.stringify(facts))

function tryAppend(session) {
  try {
    session.append('turn/start', {})
    return 'accepted'
  } catch (error) {
    return error.code
  }
}
