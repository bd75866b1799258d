import * as core from '@tidemark/session-core'
import type { Session, Sessions } from '@tidemark/session-core'
import * as original from 'cordis'
import * as fork from '@deepseek-ai/cordis'
import { describe, expect, it } from 'vitest'

/** What both hosts have in common, as far as this test goes. */
interface Host {
  plugin(plugin: unknown, config?: unknown): PromiseLike<{ dispose(): Promise<void> }>
  on(event: string, listener: (session: Session) => void): unknown
  readonly sessions: Sessions
}

const hosts: Readonly<Record<string, new () => unknown>> = {
  cordis: original.Context,
  '@deepseek-ai/cordis': fork.Context,
}

describe.each(Object.entries(hosts))('in %s', (_name, Context) => {
  it('core loads, tells its events, and ends each session with the plugin that created it', async () => {
    const ctx = new Context() as Host
    const loaded = await ctx.plugin(core)
    const told: string[] = []
    const told2 = (what: string) => (session: Session) => void told.push(`${what} ${session.id}`)
    for (const what of ['created', 'event', 'disposed']) ctx.on(`tidemark/${what}`, told2(what))
    let session: Session | undefined
    const guest = await ctx.plugin({
      name: 'guest',
      inject: ['sessions'],
      apply: (own: Host) => void (session = own.sessions.create({ id: 'a' })),
    })
    session?.append('turn/start', {})
    await guest.dispose()
    expect(told).toEqual(['created a', 'event a', 'disposed a'])
    const root = ctx.sessions.create({ id: 'b' })
    await loaded.dispose()
    expect(told.slice(3)).toEqual(['created b', 'disposed b'])
    expect(() => root.append('turn/start', {})).toThrow(core.SessionError)
  })

  it('plugins that use core stop with it and start again when it is loaded again', async () => {
    const ctx = new Context() as Host
    let loaded = await ctx.plugin(core)
    const sessions: Session[] = []
    await ctx.plugin({
      name: 'guest',
      inject: ['sessions'],
      apply: (own: Host) => void sessions.push(own.sessions.create({ id: 'a' })),
    })
    await loaded.dispose()
    loaded = await ctx.plugin(core)
    await new Promise((resolve) => setTimeout(resolve, 10))
    expect(sessions).toHaveLength(2)
    expect(sessions[1]?.append('turn/start', {}).seq).toBe(0)
    await loaded.dispose()
  })

  it('a wrong option is refused', async () => {
    const ctx = new Context() as Host
    await expect(async () => ctx.plugin(core, { redact: 'yes' })).rejects.toThrow()
    await expect(async () => ctx.plugin(core, { redcat: () => 1 })).rejects.toThrow()
  })
})
