import type { Host } from '@tidemark/session-core'
import { z } from 'zod'
import { systemPort } from './fs.ts'
import { JournalStorage } from './storage.ts'

export const name = 'tidemark-journal'

export const Config = z.strictObject({
  /** The folder that holds everything. */
  root: z.string().min(1),
})
export type Config = Readonly<z.output<typeof Config>>

/** Provides `ctx.sessionStorage` as a journal. No file is touched until a session is. */
export function apply(ctx: Host, { root }: Config): void {
  ctx.effect(function* () {
    const storage = new JournalStorage({ root, port: systemPort })
    yield () => storage.close()
    yield ctx.provide('sessionStorage', storage)
  }, 'ctx.sessionStorage')
}
