/** A host made of a `cordis.yml`: `node loader.mjs <path of the file>`. Prints one JSON line of facts. */
import { dirname } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Context } from '@deepseek-ai/cordis'
import Loader from '@deepseek-ai/cordis-plugin-loader'

const [path] = process.argv.slice(2)
const ctx = new Context()
const errors = []
ctx.logger.exporter({
  levels: { default: 0 },
  export: (message) => errors.push(message.args.map(String).join(' ')),
})
ctx.baseUrl = `${pathToFileURL(dirname(path)).href}/`
await ctx.plugin(Loader)
await ctx.loader.create({ name: '@deepseek-ai/cordis-plugin-include', config: { path: './cordis.yml' } })
await ctx.loader.await()

const facts = {}
const entry = (id) => [...ctx.loader.entries()].find(({ options }) => options.id === id)

const session = await ctx.get('sessionPersistence').create({ id: 'from-yaml' })
for (let round = 0; round < 12; round++) {
  session.append('user/message', { parts: [{ type: 'text', text: `round ${round}`, author: 'human' }] })
  session.append('assistant/message', { parts: [{ type: 'text', text: 'A long answer. '.repeat(40) }] })
}
facts.stored = (await ctx.get('sessions').flush(session)).kind
facts.compacted = (await ctx.get('compaction').compact(session)).outcome

await ctx.loader.update(entry('persistence').id, { disabled: true })
await ctx.loader.await()
facts.persistenceGone = ctx.get('sessionPersistence') === undefined
facts.appendAfter = code(() => session.append('turn/start', {}))

await ctx.loader.update(entry('persistence').id, { disabled: false })
await ctx.loader.await()
await ctx.get('sessions').dispose(session)
const resumed = await ctx.get('sessionPersistence').resume('from-yaml')
facts.boundary = resumed.log.last.type
facts.summary = JSON.stringify(resumed.messages()) === JSON.stringify(session.messages())

await ctx.loader.update(entry('compaction').id, { disabled: true })
await ctx.loader.await()
facts.compactionGone = ctx.get('compaction') === undefined
facts.stillAppends = code(() => resumed.append('turn/start', {}))
await ctx.get('sessions').dispose(resumed)
facts.unknownNow = await ctx
  .get('sessionPersistence')
  .resume('from-yaml')
  .then(
    () => 'resumed',
    (error) => `${error.code} ${error.details.type}`,
  )
facts.errors = errors
console.log(JSON.stringify(facts))

function code(call) {
  try {
    call()
    return 'accepted'
  } catch (error) {
    return error.code
  }
}
