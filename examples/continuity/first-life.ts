// The life that ends in a crash: a process of its own, started by main.ts.
import { scope, shownBy, startHost } from './host.ts'

const [folder = 'tidemark-continuity'] = process.argv.slice(2)
const ctx = await startHost(folder)
const alice = await ctx.continuity.open({ mode: 'begin', credential: shownBy('alice'), scope })

const session = await ctx.sessionPersistence.create({ id: 'deploy', as: alice, meta: alice.sessionMeta })
const text = 'Read the customer list, then deploy.'
session.append('user/message', { parts: [{ type: 'text', text, author: 'human' }] })
await ctx.sessions.flush(session)

// Durable before the agent sees what makes it necessary.
await alice.raise('confidential')
await alice.audit({ action: 'read', detail: { file: 'customers.csv' } })
console.log(`first life: alice is at ${alice.sensitivity}, and is killed`)
process.kill(process.pid, 'SIGKILL')
