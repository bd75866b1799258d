import { z } from 'zod'
import { tracked, type Host } from './host.ts'
import type { Redact } from './redact.ts'
import { Sessions } from './sessions.ts'

export const name = 'tidemark-sessions'

const isFunction = (value: unknown): boolean => typeof value === 'function'

export const Config = z
  .strictObject({
    /** Sees every payload before it is frozen, stored or published, and returns what may be kept. */
    redact: z.custom<Redact>(isFunction, 'redact is a function').optional(),
    /** The clock, in milliseconds since the epoch. Default: the system's. */
    now: z.custom<() => number>(isFunction, 'now is a function').optional(),
  })
  .prefault({})
/** What a host writes; everything has a default. */
export type Config = Readonly<z.input<typeof Config>>

/** Provides `ctx.sessions`. When it is unloaded, the plugins that use it go first, then the sessions that are left. */
export function apply(ctx: Host, config?: Config): void {
  const options = Config.parse(config)
  ctx.effect(function* () {
    const sessions = new Sessions(ctx, options)
    yield () => sessions.disposeAll()
    yield ctx.provide('sessions', tracked(sessions, 'sessions'))
  }, 'ctx.sessions')
}
