import type { z } from 'zod'

/** Uses after which a schema is worth compiling. */
const usesMin = 64

const uses = new WeakMap<z.ZodType, number>()

/**
 * A value that fits a schema; `undefined` for any other. The schema is compiled once it was used often: what a process
 * reads only a few times would wait for that longer than for all checks.
 */
export function fitting<T>(schema: z.ZodType<T>, value: unknown): T | undefined {
  const count = uses.get(schema) ?? 0
  if (count < usesMin) uses.set(schema, count + 1)
  return schema.safeParse(value, { jitless: count < usesMin }).data
}
