import { isSessionError, type Session } from '@tidemark/session-core'
import type { Context } from 'cordis'
import { startHost } from '../../host.ts'
import { digestsOf } from '../digest.ts'
import { findUnpaired } from '../pairing.ts'
import { forkId, sessionId, type Job, type ResumedReport } from '../protocol.ts'
import { retainedOf } from './killed.ts'
import { boundarySeqsOf, bracketsOf, missingFacts, sizeOf } from './reading.ts'

/** B: resumes what the killed process left, compacts it, goes on, and ends in an orderly way. */
export async function liveResumed({ root, facts }: Job): Promise<ResumedReport> {
  const ctx = await startHost({ enabled: true, root })
  const session = await ctx.sessionPersistence.resume(sessionId)
  const fork = await ctx.sessionPersistence.inspect(forkId)
  const found = {
    incarnation: session.incarnation,
    boundarySeqs: boundarySeqsOf(session),
    digests: digestsOf(session.log),
    brackets: bracketsOf(session),
    forkBrackets: bracketsOf(fork),
    forkBoundarySeq: fork.boundarySeq,
    before: sizeOf(session),
  }
  const compaction = await compact(ctx, session)
  const after = sizeOf(session)
  session.append('user/message', { parts: [{ type: 'text', text: 'Where were we?', author: 'human' }] })
  const { durableSeq } = await ctx.sessions.flush(session)
  const report = {
    ...found,
    compaction,
    after,
    unpaired: findUnpaired(session.messages()),
    missingFacts: missingFacts(session, facts),
    durableSeq,
  }
  await ctx.fiber.dispose()
  return report
}

async function compact(ctx: Context, session: Session): Promise<ResumedReport['compaction']> {
  try {
    const result = await ctx.compaction.compact(session, { retainMessages: retainedOf(session) })
    switch (result.outcome) {
      case 'applied':
        return { outcome: 'applied', ...result.range }
      case 'nothing':
        return { outcome: 'nothing' }
      default:
        return { outcome: result.outcome, code: result.error.code }
    }
  } catch (error) {
    if (!isSessionError(error)) throw error
    return { outcome: 'refused', code: error.code }
  }
}
