// A host that is killed when a raise is acknowledged, and does nothing after it. Run as a process of its own.
import { join } from 'node:path'
import * as continuity from '@tidemark/session-continuity'
import type { Operation, Principal } from '@tidemark/session-continuity'
import type {} from '@tidemark/session-continuity/cordis'
import * as core from '@tidemark/session-core'
import type {} from '@tidemark/session-core/cordis'
import * as persistence from '@tidemark/session-persistence'
import type {} from '@tidemark/session-persistence/cordis'
import { Context } from 'cordis'

const [base = ''] = process.argv.slice(2)
const operations: readonly Operation[] = [
  ...(['begin', 'resume', 'raise', 'reset'] as const),
  ...(['session/create', 'session/resume', 'session/flush'] as const),
]
const ctx = new Context()
await ctx.plugin(core)
await ctx.plugin(persistence, { enabled: true, root: join(base, 'sessions'), authorize: 'required' })
await ctx.plugin(continuity, {
  root: join(base, 'root'),
  witness: join(base, 'witness'),
  authenticators: [
    { mechanism: 'test', authenticate: async (token) => JSON.parse(token ?? '') as Principal },
  ],
  grants: () => ({ operations }),
})
const principal = { id: 'alice', kind: 'human', assurance: 1, authenticatedAt: 1_000 }
const credential = { mechanism: 'test', token: JSON.stringify(principal) }
const as = await ctx.continuity.open({ mode: 'begin', credential, scope: 's' })
const session = await ctx.sessionPersistence.create({ id: 'one', as, meta: as.sessionMeta })
session.append('user/message', { parts: [{ type: 'text', text: 'before', author: 'human' }] })
await ctx.sessions.flush(session)
await as.raise('secret')
process.kill(process.pid, 'SIGKILL')
