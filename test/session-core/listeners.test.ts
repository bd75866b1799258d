import * as core from '@tidemark/session-core'
import type { Sessions } from '@tidemark/session-core'
import * as deepseek from '@deepseek-ai/cordis'
import * as cordis from 'cordis'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Host } from '../../packages/session-core/src/host.ts'
import { Listeners } from '../../packages/session-core/src/listeners.ts'

/** What both hosts have; their types are strangers to each other. */
interface AnyContext extends Host {
  readonly sessions: Sessions
  on(event: string, listener: (...args: never[]) => unknown, options?: object): () => unknown
  once(event: string, listener: () => unknown): () => unknown
  plugin(plugin: object, config?: object): PromiseLike<{ dispose(): Promise<void> }>
}

const event = 'tidemark/event'
const nothing = (): void => undefined

const hosts = [
  ['cordis', () => new cordis.Context() as unknown as AnyContext],
  ['@deepseek-ai/cordis', () => new deepseek.Context() as unknown as AnyContext],
] as const

describe.each(hosts)('in %s, that nobody listens', (_name, start) => {
  let ctx: AnyContext
  let listeners: Listeners
  let loaded: { dispose(): Promise<void> }

  beforeEach(async () => {
    ctx = start()
    loaded = await ctx.plugin(core, {})
    listeners = new Listeners(ctx.events)
  })

  afterEach(() => loaded.dispose())

  it('is known at once, and no longer once somebody does, until the last one stops', () => {
    expect(listeners.isNone(event)).toBe(true)
    const [first, second] = [ctx.on(event, nothing), ctx.on(event, () => 1, { global: true, prepend: true })]
    expect(listeners.isNone(event)).toBe(false)
    first()
    expect(listeners.isNone(event)).toBe(false)
    second()
    expect(listeners.isNone(event)).toBe(true)
    ctx.on(event, nothing)
    expect(listeners.isNone(event)).toBe(false)
  })

  it('is not said while somebody watches what the bus dispatches', () => {
    const stop = ctx.on('internal/dispatch', nothing)
    expect(listeners.isNone(event)).toBe(false)
    stop()
    expect(listeners.isNone(event)).toBe(true)
  })

  it('is known of those who listened before, who listen once, and who were unloaded', async () => {
    ctx.once(event, nothing)
    const later = new Listeners(ctx.events)
    expect(later.isNone(event)).toBe(false)
    for (const listener of later.of(event, [])) listener()
    expect(later.isNone(event)).toBe(true)
    const guest = await ctx.plugin({ name: 'guest', apply: (own: AnyContext) => void own.on(event, nothing) })
    expect(later.isNone(event)).toBe(false)
    await guest.dispose()
    expect(later.isNone(event)).toBe(true)
  })

  it('costs no listener an event: each hears what is appended from then on', () => {
    const heard: string[] = []
    const session = ctx.sessions.create()
    const append = (): unknown => session.append('turn/start', {})
    const listen = (name: string): (() => unknown) =>
      ctx.on(event, (_session: unknown, { seq }: { seq: number }) => void heard.push(`${name}${seq}`))
    append()
    const stop = listen('a')
    append()
    stop()
    append()
    listen('b')
    append()
    expect(heard).toEqual(['a1', 'b3'])
  })

  it('is asked again for what waits: who begins to listen in a delivery hears what was appended in it', () => {
    const heard: number[] = []
    ctx.on('tidemark/created', (session: core.Session) => {
      session.append('turn/start', {})
      ctx.on(event, (_session: unknown, { seq }: { seq: number }) => void heard.push(seq))
    })
    ctx.sessions.create()
    expect(heard).toEqual([0])
  })
})

describe('a bus that keeps its listeners in another way', () => {
  it('is asked each time', () => {
    const bare = { dispatch: () => [] }
    const tables = [{}, undefined, null, new Map(), { 'internal/listener': [] }, { 'internal/listener': 1 }]
    const buses = [bare, ...tables.map((_hooks) => ({ ...bare, _hooks }))]
    expect(buses.map((bus) => new Listeners(bus).isNone(event))).toEqual(buses.map(() => false))
  })
})
