import { join } from 'node:path'
import * as deepseek from '@deepseek-ai/cordis'
import * as core from '@tidemark/session-core'
import * as persistence from '@tidemark/session-persistence'
import type { AuthorizeRequest, Persistence } from '@tidemark/session-persistence'
import * as journal from '@tidemark/session-persistence/journal'
import * as cordis from 'cordis'
import { describe, expect, it } from 'vitest'
import { storedSeqs } from './files.ts'
import { say } from './host.ts'
import { codeOf } from './refusal.ts'
import { scratch } from './scratch.ts'

// What is the same in both hosts; their types are not.
type Host = Pick<cordis.Context, 'plugin' | 'get'> & {
  on(name: string, listener: (request: AuthorizeRequest) => void): unknown
}

describe.each([
  ['cordis', cordis.Context],
  ['@deepseek-ai/cordis', deepseek.Context],
])('in %s', (_, Context) => {
  it('the journal and persistence load as plugins, ask who may, and unload without loss', async () => {
    const root = join(scratch(), 'root')
    const ctx = new Context() as unknown as Host
    await ctx.plugin(core)
    await ctx.plugin(journal, { root })
    const fiber = await ctx.plugin(persistence, { enabled: true, authorize: 'required', flushDelayMs: 1_000 })
    ctx.on('tidemark/authorize', (request) => {
      if (request.as === 'me') request.allow()
    })
    let created: core.Session | undefined
    const guest = await ctx.plugin({
      name: 'guest',
      inject: ['sessionPersistence'],
      apply: async (inner: cordis.Context) => {
        created = await inner.sessionPersistence.create({ id: 'a', as: 'me' })
        say(created, 'one')
      },
    })
    const service = ctx.get('sessionPersistence') as unknown as Persistence
    expect(await codeOf(() => service.inspect('a', { as: 'you' }))).toBe('NOT_FOUND')
    await guest.dispose()
    expect(await codeOf(() => say(created!, 'two'))).toBe('DISPOSED')
    expect(await storedSeqs(root, 'a')).toEqual([0])
    say(await service.resume('a', { as: 'me' }), 'two')
    await fiber.dispose()
    expect(await storedSeqs(root, 'a')).toEqual([0, 1, 2])
  })
})
