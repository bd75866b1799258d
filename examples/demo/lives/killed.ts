import type { CompactionResult, Summarizer } from '@tidemark/compaction'
import type { Session } from '@tidemark/session-core'
import type { Context } from 'cordis'
import { startHost } from '../../host.ts'
import { digestOf, digestsOf } from '../digest.ts'
import { forkId, sessionId, type Job, type KilledReport, type Word } from '../protocol.ts'
import { bracketsOf } from './reading.ts'
import { recordTranscript } from './recording.ts'

/** A: records, says what it was told is durable, starts a compaction that never ends, forks, and waits. */
export async function liveKilled(
  { file, root }: Job,
  tell: (word: Word) => Promise<void>,
): Promise<KilledReport> {
  const ctx = await startHost({ enabled: true, root })
  const session = await ctx.sessionPersistence.create({ id: sessionId })
  let toldCount = 0
  async function flush(): Promise<void> {
    const { durableSeq } = await ctx.sessions.flush(session)
    const events = [...session.log].slice(toldCount, durableSeq + 1)
    toldCount += events.length
    await tell({ kind: 'durable', durableSeq, digests: digestsOf(events) })
  }
  const { turnCount, facts, leftOutCount } = await recordTranscript(ctx, session, { file, afterTurn: flush })
  const transcriptDigest = digestOf(session.messages())
  const compactStartSeq = await hang(ctx, session)
  const fork = await forkMeanwhile(ctx, session)
  await flush()
  return {
    incarnation: session.incarnation,
    turnCount,
    facts,
    leftOutCount,
    eventCount: session.log.length,
    transcriptDigest,
    compactStartSeq,
    forkedAtSeq: fork.header.parent?.seq ?? -1,
    brackets: bracketsOf(session),
    forkBrackets: bracketsOf(fork),
  }
}

/** The seq of a compaction whose summarizer never answers; undefined when there is nothing to compact. */
async function hang(ctx: Context, session: Session): Promise<number | undefined> {
  const never = new Promise<never>(() => undefined)
  let compacting: Promise<CompactionResult> | undefined
  const asked = new Promise<'asked'>((resolve) => {
    const summarizer: Summarizer = { name: 'hanging', summarize: () => (resolve('asked'), never) }
    compacting = ctx.compaction.compact(session, { summarizer, retainMessages: retainedOf(session) })
  })
  const first = await Promise.race([asked, compacting ?? never])
  if (first !== 'asked' && first.outcome !== 'nothing')
    throw new Error(`the compaction ended as ${first.outcome}`)
  return first === 'asked'
    ? bracketsOf(session).find(({ bracket }) => bracket === 'compaction')?.seq
    : undefined
}

/** A short transcript is compacted too, so that there is something to see. */
export function retainedOf(session: Session): number {
  return Math.min(8, Math.floor(session.messages().length / 4))
}

/** The fork says something of its own, since a fork that only looks leaves no mark. */
async function forkMeanwhile(ctx: Context, session: Session): Promise<Session> {
  const fork = await ctx.sessionPersistence.fork(session, { id: forkId })
  fork.append('user/message', { parts: [{ type: 'text', text: 'Meanwhile, in the fork.', author: 'agent' }] })
  await ctx.sessions.flush(fork)
  return fork
}
