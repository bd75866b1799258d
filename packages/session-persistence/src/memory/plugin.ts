import type { Host } from '@tidemark/session-core'
import { z } from 'zod'
import { MemoryStorage } from './storage.ts'

export const name = 'tidemark-memory'

export const Config = z.strictObject({}).prefault({})
export type Config = Readonly<z.output<typeof Config>>

/** Provides `ctx.sessionStorage` in memory: what it holds goes when the plugin goes. */
export function apply(ctx: Host): void {
  ctx.effect(function* () {
    const storage = new MemoryStorage()
    yield () => storage.close()
    yield ctx.provide('sessionStorage', storage)
  }, 'ctx.sessionStorage')
}
