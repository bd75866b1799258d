import * as sessions from '@tidemark/session-core'
import * as persistence from '@tidemark/session-persistence'
import { Context } from 'cordis'

// A host that never flushes: `node unflushed-host.mjs <root> <id>`. It appends 50 messages, says when they are durable,
// and then appends on and says nothing of it.
const [root, id] = process.argv.slice(2)
const ctx = new Context()
await ctx.plugin(sessions)
await ctx.plugin(persistence, { enabled: true, root })
const session = await ctx.sessionPersistence.create({ id })
let appended = 0
const say = () =>
  session.append('user/message', { parts: [{ type: 'text', text: `${appended++}`, author: 'human' }] })
ctx.on('tidemark/durable', (_session, seq) =>
  process.stdout.write(`${JSON.stringify({ durable: seq, appended })}\n`),
)
for (let index = 0; index < 50; index++) say()
setInterval(say, 1)
