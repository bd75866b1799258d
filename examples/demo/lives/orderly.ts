import type { Context } from 'cordis'
import { startHost } from '../../host.ts'
import { digestOf } from '../digest.ts'
import { sessionId, type Job, type OrderlyReport } from '../protocol.ts'
import { boundarySeqsOf, missingFacts } from './reading.ts'

/** D: resumes after an orderly end, says one thing, and then opens the session twice without touching it. */
export async function liveOrderly({ root, facts }: Job): Promise<OrderlyReport> {
  const ctx = await startHost({ enabled: true, root })
  const session = await ctx.sessionPersistence.resume(sessionId)
  const lastSeqFound = session.log.length - 2
  session.append('user/message', { parts: [{ type: 'text', text: 'Good morning.', author: 'human' }] })
  await ctx.sessions.flush(session)
  const found = {
    incarnation: session.incarnation,
    boundarySeqs: boundarySeqsOf(session),
    lastSeqFound,
    missingFacts: missingFacts(session, facts),
  }
  await ctx.sessions.dispose(session)
  const untouched = [await fingerprint(ctx)]
  for (let time = 0; time < 2; time++) {
    const opened = await ctx.sessionPersistence.resume(sessionId)
    await ctx.sessions.dispose(opened)
    untouched.push(await fingerprint(ctx))
  }
  await ctx.fiber.dispose()
  return { ...found, untouched }
}

async function fingerprint(ctx: Context): Promise<OrderlyReport['untouched'][number]> {
  const events = [...(await ctx.sessionPersistence.inspect(sessionId)).log]
  return {
    eventCount: events.length,
    sizeBytes: Buffer.byteLength(JSON.stringify(events)),
    digest: digestOf(events),
  }
}
