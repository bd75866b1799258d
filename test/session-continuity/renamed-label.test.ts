import { join } from 'node:path'
import * as continuity from '@tidemark/session-continuity'
import type {} from '@tidemark/session-continuity/cordis'
import * as core from '@tidemark/session-core'
import type {} from '@tidemark/session-core/cordis'
import * as persistence from '@tidemark/session-persistence'
import type {} from '@tidemark/session-persistence/cordis'
import { Context } from 'cordis'
import { afterEach, expect, it } from 'vitest'
import { scratch } from './scratch.ts'
import { World, allOperations, credential, refusalOf, trusting } from './world.ts'

const hosts: Context[] = []
afterEach(async () => {
  for (const ctx of hosts.splice(0)) await ctx.fiber.dispose()
})

async function host(base: string, labels?: string[]): Promise<Context> {
  const ctx = new Context()
  hosts.push(ctx)
  await ctx.plugin(core)
  const root = join(base, 'sessions')
  await ctx.plugin(persistence, { enabled: true, root, authorize: 'required' })
  await ctx.plugin(continuity, {
    root: join(base, 'root'),
    witness: join(base, 'witness'),
    authenticators: [trusting],
    grants: () => ({ operations: allOperations }),
    ...(labels && { labels }),
  })
  return ctx
}

it('G44: a session whose label the configuration does not name is not resumed, and nothing of it changes', async () => {
  const world = new World(scratch())
  const ctx = await host(world.base)
  const as = await ctx.continuity.open({ mode: 'begin', credential: credential('alice'), scope: 's' })
  const session = await ctx.sessionPersistence.create({ id: 'one', as, meta: as.sessionMeta })
  session.append('user/message', { parts: [{ type: 'text', text: 'hello', author: 'human' }] })
  await as.raise('secret')
  await ctx.sessions.flush(session)
  await ctx.sessions.dispose(session)
  await (await as.reset({ reason: 'again' })).close()
  await hosts.pop()!.fiber.dispose()

  const renamed = await host(world.base, ['public', 'internal', 'confidential', 'top'])
  const later = credential('alice', { authenticatedAt: Date.now() })
  const handle = await renamed.continuity.open({ mode: 'resume', credential: later, scope: 's' })
  const before = (await renamed.sessionPersistence.history('one', { as: handle })).events
  const refused = await refusalOf(() => renamed.sessionPersistence.resume('one', { as: handle }))
  expect(refused).toMatchObject({ code: 'UNSUPPORTED_FORMAT', reason: 'unknown-label' })
  expect((await renamed.sessionPersistence.history('one', { as: handle })).events).toEqual(before)
  await hosts.pop()!.fiber.dispose()

  // With its names back it goes on where it was.
  const named = await host(world.base)
  const again = await named.continuity.open({ mode: 'resume', credential: later, scope: 's' })
  const resumed = await named.sessionPersistence.resume('one', { as: again })
  expect(named.continuity.labelOf(resumed)).toBe('secret')
})
