import * as core from '@tidemark/session-core'
import type { Config, Definitions } from '@tidemark/session-core'
import type {} from '@tidemark/session-core/cordis'
import { Context, type Fiber } from 'cordis'
import { endAfterTest } from '../clean-up.ts'

/** A cordis host with core loaded; it is unloaded after the test. */
export async function startHost(config: Config = {}): Promise<Context> {
  const ctx = new Context()
  const fiber = await ctx.plugin(core, config)
  endAfterTest(() => fiber.dispose())
  return ctx
}

/** A plugin of the host that uses `ctx.sessions`. */
export async function load(ctx: Context, apply: (ctx: Context) => void, name = 'guest'): Promise<Fiber> {
  return ctx.plugin({ name, inject: ['sessions'], apply })
}

/** A plugin that only defines. */
export async function define(ctx: Context, definitions: Definitions): Promise<Fiber> {
  return load(ctx, (guest) => void guest.effect(() => guest.sessions.define(definitions)))
}

/** What the host's log holds at level error. */
export function reported(ctx: Context): unknown[] {
  return ctx.logger.buffer.filter(({ type }) => type === 'error').map(({ args }) => args[0] as unknown)
}
