import { join } from 'node:path'
import * as continuity from '@tidemark/session-continuity'
import { staticTokens, tokenDigest, type Operation } from '@tidemark/session-continuity'
import * as sessions from '@tidemark/session-core'
import * as persistence from '@tidemark/session-persistence'
import { Context } from 'cordis'
import type {} from '@tidemark/session-continuity/cordis'
import type {} from '@tidemark/session-core/cordis'
import type {} from '@tidemark/session-persistence/cordis'

export const scope = 'project/deploy-bot'

/** A real host keeps only digests in its configuration, and hands out better tokens. */
export const tokens = { alice: 'alice shows this', bob: 'bob shows this' } as const

const human = { kind: 'human', assurance: 1, authenticatedAt: Date.UTC(2026, 0, 1) } as const

const granted: Readonly<Record<string, readonly Operation[]>> = {
  'token:alice': [
    ...(['begin', 'resume', 'raise', 'orphans', 'acknowledge'] as const),
    ...(['session/create', 'session/resume', 'session/flush', 'session/list'] as const),
  ],
  // May work in the same scope, on what is Bob's own.
  'token:bob': ['begin', 'resume', 'session/create', 'session/resume', 'session/flush', 'session/list'],
}

/** A host whose stored sessions belong to somebody. The witness is best kept on another disk. */
export async function startHost(folder: string): Promise<Context> {
  const ctx = new Context()
  await ctx.plugin(sessions)
  await ctx.plugin(persistence, { enabled: true, root: join(folder, 'sessions'), authorize: 'required' })
  await ctx.plugin(continuity, {
    root: join(folder, 'continuity'),
    witness: join(folder, 'witness'),
    authenticators: [
      staticTokens([
        { sha256: tokenDigest(tokens.alice), principal: { id: 'alice', ...human } },
        { sha256: tokenDigest(tokens.bob), principal: { id: 'bob', ...human } },
      ]),
    ],
    grants: ({ principal, scope: asked }) =>
      asked === scope ? { operations: granted[principal.id] ?? [] } : undefined,
  })
  return ctx
}

export function shownBy(who: keyof typeof tokens): { mechanism: string; token: string } {
  return { mechanism: 'token', token: tokens[who] }
}
