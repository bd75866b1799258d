import { join } from 'node:path'
import * as continuity from '@tidemark/session-continuity'
import type { GrantsFunction, Handle } from '@tidemark/session-continuity'
import type {} from '@tidemark/session-continuity/cordis'
import * as core from '@tidemark/session-core'
import type { Session } from '@tidemark/session-core'
import type {} from '@tidemark/session-core/cordis'
import * as persistence from '@tidemark/session-persistence'
import type {} from '@tidemark/session-persistence/cordis'
import { Context, type Fiber } from 'cordis'
import { endAfterTest } from '../clean-up.ts'
import { credential, everything, trusting } from './world.ts'

export interface Hosted {
  readonly ctx: Context
  readonly persistence: Fiber
  readonly continuity: Fiber
}

/** A host as the documentation shows it: sessions in files, that nobody gets at without a handle. */
export async function startHost(
  base: string,
  { grants = everything, ...config }: Partial<continuity.Config> & { grants?: GrantsFunction } = {},
  writing: Partial<persistence.Config> = {},
): Promise<Hosted> {
  const ctx = new Context()
  endAfterTest(() => ctx.fiber.dispose())
  await ctx.plugin(core)
  const stored = { enabled: true, root: join(base, 'sessions'), authorize: 'required', ...writing } as const
  const persistenceFiber = await ctx.plugin(persistence, stored)
  const folders = { root: join(base, 'root'), witness: join(base, 'witness') }
  const continuityFiber = await ctx.plugin(continuity, {
    ...folders,
    authenticators: [trusting],
    grants,
    ...config,
  })
  return { ctx, persistence: persistenceFiber, continuity: continuityFiber }
}

export function open(ctx: Context, mode: 'begin' | 'resume', id = 'alice'): Promise<Handle> {
  // Signed in at this moment: a reset may have been a moment ago.
  const authenticatedAt = Date.now() + 1_000
  return ctx.continuity.open({ mode, credential: credential(id, { authenticatedAt }), scope: 's' })
}

export function create(ctx: Context, as: Handle, id = 'one'): Promise<Session> {
  return ctx.sessionPersistence.create({ id, as, meta: as.sessionMeta })
}

export function say(session: Session, text: string): void {
  session.append('user/message', { parts: [{ type: 'text', text, author: 'human' }] })
}

/** A session that is stored, and that nobody holds. */
export async function leaveStored(ctx: Context, as: Handle): Promise<void> {
  const session = await create(ctx, as)
  say(session, 'stored')
  await ctx.sessions.flush(session)
  await ctx.sessions.dispose(session)
}

/** What a session holds in the next life of the host, without what it begins with. */
export async function heardIn(base: string, id = 'one'): Promise<string[]> {
  const { ctx } = await startHost(base)
  const as = await open(ctx, 'resume')
  const view = await ctx.sessionPersistence.inspect(id, { as })
  const said = [...view.log].flatMap((event) =>
    core.isEvent(event, 'user/message') ? event.data.parts.map((part) => Object(part).text as string) : [],
  )
  await ctx.fiber.dispose()
  return said
}
