import type { z } from 'zod'

/**
 * A value that fits a schema; `undefined` for any other. The schema is not compiled: what a process reads only a few
 * times would wait for that longer than for all checks.
 */
export function fitting<T>(schema: z.ZodType<T>, value: unknown): T | undefined {
  return schema.safeParse(value, { jitless: true }).data
}
