import * as core from '@tidemark/session-core'
import type { Session } from '@tidemark/session-core'
import type {} from '@tidemark/session-core/cordis'
import * as persistence from '@tidemark/session-persistence'
import type { Config } from '@tidemark/session-persistence'
import type {} from '@tidemark/session-persistence/cordis'
import { Context, type Fiber } from 'cordis'
import { endAfterTest } from '../clean-up.ts'

export interface Started {
  readonly ctx: Context
  readonly core: Fiber
  readonly persistence: Fiber
}

/** A host with core and persistence; it is unloaded after the test. */
export async function start(config: Config = {}, coreConfig: Partial<core.Config> = {}): Promise<Started> {
  const ctx = new Context()
  const coreFiber = await ctx.plugin(core, coreConfig)
  endAfterTest(() => coreFiber.dispose())
  return { ctx, core: coreFiber, persistence: await ctx.plugin(persistence, config) }
}

/** A host with a journal in this folder. */
export async function startJournal(root: string, config: Config = {}): Promise<Context> {
  return (await start({ enabled: true, root, flushDelayMs: 5, ...config })).ctx
}

/** Ends a host as a process that ends cleanly does. */
export async function stop({ core: fiber }: Started): Promise<void> {
  await fiber.dispose()
}

/** A plugin of the host. */
export async function load(ctx: Context, inject: string[], apply: (ctx: Context) => unknown): Promise<Fiber> {
  return ctx.plugin({ name: 'guest', inject, apply: async (guest: Context) => void (await apply(guest)) })
}

/** What the host's log holds at level error. */
export function reported(ctx: Context): unknown[] {
  return ctx.logger.buffer.filter(({ type }) => type === 'error').map(({ args }) => args[0] as unknown)
}

export const say = (session: Session, text: string, author: core.Author = 'human') =>
  session.append('user/message', { parts: [{ type: 'text', text, author }] })

export const textsOf = (view: core.SessionView): string[] =>
  [...view.log].flatMap((event) =>
    core.isEvent(event, 'user/message')
      ? event.data.parts.map((part) => ('text' in part ? part.text : ''))
      : [],
  )

export const typesOf = (view: core.SessionView): string[] => [...view.log].map(({ type }) => type)
