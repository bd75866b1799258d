import * as core from '@tidemark/session-core'
import { Context } from 'cordis'
import { onTestFinished } from 'vitest'
import { Recording, type Step } from '../../../examples/readers/step.ts'
import type {} from '@tidemark/session-core/cordis'

/** A session in memory that holds these steps. */
export async function recorded(steps: readonly Step[]): Promise<core.Session> {
  const ctx = new Context()
  await ctx.plugin(core, core.Config.parse({}))
  onTestFinished(() => ctx.fiber.dispose())
  const session = ctx.sessions.create()
  const recording = new Recording(session)
  for (const step of steps) recording.record(step)
  return session
}
