import type { Host } from '@tidemark/session-core'
import { z } from 'zod'
import { systemPort } from './fs.ts'
import { segmentSizeBytesMax } from './size.ts'
import { JournalStorage } from './storage.ts'

export const name = 'tidemark-journal'

export const Config = z.strictObject({
  /** The folder that holds everything. */
  root: z.string().min(1),
  /** A segment that is larger is followed by another one. */
  segmentSizeBytesMax: z.int().min(4_096).max(1_073_741_824).default(segmentSizeBytesMax),
  /** Whether what is sealed is packed, to a sixth of its size. */
  compress: z.boolean().default(true),
})
/** What a host writes; everything but `root` has a default. */
export type Config = Readonly<z.input<typeof Config>>

/** Provides `ctx.sessionStorage` as a journal. No file is touched until a session is. */
export function apply(ctx: Host, config: Config): void {
  const options = Config.parse(config)
  ctx.effect(function* () {
    const storage = new JournalStorage({ ...options, port: systemPort })
    yield () => storage.close()
    yield ctx.provide('sessionStorage', storage)
  }, 'ctx.sessionStorage')
}
