import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Refused } from '@tidemark/session-continuity'
import { describe, expect, it } from 'vitest'
import { create, open, startHost } from './hosted.ts'
import { scratch } from './scratch.ts'
import { allOperations, refusalOf } from './world.ts'

const strangersCount = 120

function keptIn(base: string): Refused[] {
  const folder = join(base, 'root', 'continuity', 'refusals')
  return readdirSync(folder).flatMap((name) =>
    readFileSync(join(folder, name), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Refused),
  )
}

/** A store with more of alice's sessions than refusals are written at once. */
async function withStrangers(base: string, operations = (): typeof allOperations => allOperations) {
  const host = await startHost(base, {
    grants: ({ principal }) => ({ operations: principal.id === 'test:bob' ? operations() : allOperations }),
  })
  const { ctx } = host
  const as = await open(ctx, 'begin')
  for (let each = 0; each < strangersCount; each++)
    await ctx.sessions.dispose(await create(ctx, as, `of-alice-${each}`))
  return { ctx, bob: await open(ctx, 'begin', 'bob') }
}

describe('a list', () => {
  it('that does not show the sessions of strangers is no attempt; a refused resume stands in the log', async () => {
    const base = scratch()
    const { ctx, bob } = await withStrangers(base)
    await create(ctx, bob, 'of-bob')
    const { sessions } = await ctx.sessionPersistence.list({ as: bob })
    expect(sessions.map(({ id }) => id)).toEqual(['of-bob'])
    expect(ctx.continuity.refusedCount).toBe(0)
    const resume = () => ctx.sessionPersistence.resume('of-alice-7', { as: bob })
    expect((await refusalOf(resume)).code).toBe('NOT_FOUND')
    await ctx.fiber.dispose()
    expect(keptIn(base)).toMatchObject([
      {
        operation: 'session/resume',
        reason: 'other-principal',
        sessionId: 'of-alice-7',
        principal: 'test:bob',
        suppressed: 0,
      },
    ])
  })

  it('that is refused is one attempt each time, and pushes no other one out', async () => {
    const base = scratch()
    let operations = allOperations
    const { ctx, bob } = await withStrangers(base, () => operations)
    operations = operations.filter((operation) => operation !== 'session/list')
    for (let times = 1; times <= 3; times++) {
      expect((await ctx.sessionPersistence.list({ as: bob })).sessions).toEqual([])
      expect(ctx.continuity.refusedCount).toBe(times)
    }
    await ctx.sessionPersistence.list({ as: { looks: 'like a handle' } })
    await refusalOf(() => ctx.sessionPersistence.inspect('of-alice-7', { as: bob }))
    await ctx.fiber.dispose()
    expect(keptIn(base).map(({ operation, reason }) => [operation, reason])).toEqual([
      ['session/list', 'no-grant'],
      ['session/list', 'no-grant'],
      ['session/list', 'no-grant'],
      ['session/list', 'closed'],
      ['session/inspect', 'other-principal'],
    ])
  })
})
