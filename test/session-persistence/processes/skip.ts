import type { TestContext } from 'vitest'

/** Skips a test that this machine cannot run, and says so where a reporter does not. */
export function skipAloud(context: TestContext, reason: string): never {
  console.log(`skipped: ${context.task.name}: ${reason}`)
  return context.skip(`this machine cannot: ${reason}`)
}
