import { isSessionError } from '@tidemark/session-core'
import type { Job, Word } from '../protocol.ts'
import { liveKilled } from './killed.ts'
import { liveOrderly } from './orderly.ts'
import { liveResumed } from './resumed.ts'
import { liveStateless } from './stateless.ts'

const lives = { killed: liveKilled, resumed: liveResumed, orderly: liveOrderly, stateless: liveStateless }

/** Resolves when the parent has the word, so that an exit right after it loses nothing. */
function tell(word: Word): Promise<void> {
  return new Promise((resolve, reject) => {
    process.send?.(word, undefined, undefined, (error) => (error ? reject(error) : resolve()))
  })
}

async function live(job: Job): Promise<void> {
  try {
    const report = await lives[job.life](job, tell)
    await tell({ kind: 'report', report })
  } catch (error) {
    await tell({ kind: 'failed', reason: reasonOf(error) })
    process.exit(1)
  }
  // The one that is to be killed waits for that; the channel to the parent keeps it alive.
  if (job.life !== 'killed') process.disconnect()
}

/** What the world did needs no stack; a bug of ours does. */
function reasonOf(error: unknown): string {
  if (isSessionError(error)) return `${error.code}: ${error.message}`
  return error instanceof Error ? (error.stack ?? error.message) : 'something was thrown that is no error'
}

process.once('message', (job) => void live(job as Job))
// Without a parent there is nobody to live for.
process.once('disconnect', () => setTimeout(() => process.exit(1), 5_000).unref())
