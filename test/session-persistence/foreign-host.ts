import * as core from '@tidemark/session-core'
import type {} from '@tidemark/session-core/cordis'
import * as persistence from '@tidemark/session-persistence'
import type { Config, Lease, SessionStorage } from '@tidemark/session-persistence'
import type {} from '@tidemark/session-persistence/cordis'
import { MemoryStorage } from '@tidemark/session-persistence/memory'
import { Context } from 'cordis'
import { endAfterTest } from '../clean-up.ts'

/** A host with a storage that a third party wrote: one in memory, with these calls of its own. */
export async function hostWith(own: Partial<SessionStorage>, config: Config = {}): Promise<Context> {
  const storage = new MemoryStorage()
  const theirs = new Proxy(storage, {
    get: (target, key) => {
      const value: unknown = own[key as keyof SessionStorage] ?? Reflect.get(target, key)
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })
  return hostOn(theirs, config)
}

/** A host on this storage. */
export async function hostOn(storage: SessionStorage, config: Config = {}): Promise<Context> {
  const ctx = new Context()
  endAfterTest(() => ctx.fiber.dispose())
  await ctx.plugin(core)
  await ctx.plugin({
    name: 'theirs',
    apply: (inner: Context) => void inner.provide('sessionStorage', storage),
  })
  await ctx.plugin(persistence, { enabled: true, flushDelayMs: 5, ...config })
  return ctx
}

/** A lease, with something else in the place of some of it. */
export function altered(lease: Lease, changes: Partial<Lease>): Lease {
  return Object.assign(Object.create(lease) as Lease, changes)
}
