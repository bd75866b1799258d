import { isSessionError } from '@tidemark/session-core'
import type { Context } from 'cordis'
import { startHost } from '../../host.ts'
import { digestOf } from '../digest.ts'
import { sessionId, type Job, type StatelessReport } from '../protocol.ts'
import { recordTranscript } from './recording.ts'

/** C: the same host and the same folder, but nothing says that anything is to be stored. */
export async function liveStateless({ file, root }: Job): Promise<StatelessReport> {
  const ctx = await startHost({ root })
  const session = await ctx.sessionPersistence.create({ id: 'stateless' })
  await recordTranscript(ctx, session, {
    file,
    afterTurn: async () => void (await ctx.sessions.flush(session)),
  })
  const report = {
    state: ctx.sessionPersistence.state.kind,
    sessionKind: (await ctx.sessions.flush(session)).kind,
    eventCount: session.log.length,
    transcriptDigest: digestOf(session.messages()),
    resumeCode: await resumeCode(ctx),
  }
  await ctx.fiber.dispose()
  return report
}

async function resumeCode(ctx: Context): Promise<string> {
  try {
    await ctx.sessionPersistence.resume(sessionId)
    return 'resumed'
  } catch (error) {
    if (!isSessionError(error)) throw error
    return error.code
  }
}
