import type { SummaryRequest } from '@tidemark/compaction'
import type { Outcome } from './answer.ts'
import { attempt } from './attempt.ts'
import { faultOf, reasonOf, type Fault } from './fault.ts'
import type { Settings } from './options.ts'
import type { ModelPrompt } from './prompt/prompt.ts'
import { refusal } from './refusal.ts'
import { Stop } from './stop.ts'

export interface Question {
  /** Of the summarizer, for its errors. */
  readonly name: string
  readonly prompt: ModelPrompt
  readonly request: SummaryRequest
  readonly settings: Settings
}

/** A server that wants to be left alone for longer is not waited for. */
const retryWaitMsMax = 30_000

/** Asks until there is an answer, or a reason why there is none. */
export async function ask(question: Question): Promise<string> {
  const { name, request, settings } = question
  const stop = new Stop(request.signal, settings, (reason) => refusal(name, reason, {}))
  try {
    for (let attempts = 1; ; attempts++) {
      const outcome = await attempt(question, stop)
      stop.throwIfStopped()
      if (outcome.kind === 'answer') return outcome.text
      if (outcome.kind === 'refused') {
        const { reason, finishReason } = outcome
        const { sizeBytesMax } = request
        throw refusal(name, reason, { attempts, sizeBytesMax, ...(finishReason && { finishReason }) })
      }
      const fault = faultOf(outcome.error, Date.now())
      const waitMs = outcome.hasBegun ? undefined : findWait(fault, attempts, settings)
      if (waitMs === undefined) throw refuseFault(name, fault, { attempts, outcome })
      await wait(waitMs, stop)
    }
  } finally {
    stop.end()
  }
}

/** How long to wait before the next attempt, or `undefined` when there shall be none. */
function findWait(fault: Fault, attempts: number, settings: Settings): number | undefined {
  if (!fault.isPassing || attempts > settings.maxRetries) return undefined
  if (fault.retryAfterMs === undefined)
    return Math.min(settings.retryDelayMs * 2 ** (attempts - 1), retryWaitMsMax)
  return fault.retryAfterMs <= retryWaitMsMax ? fault.retryAfterMs : undefined
}

function refuseFault(
  name: string,
  fault: Fault,
  { attempts, outcome }: { attempts: number; outcome: Extract<Outcome, { kind: 'failed' }> },
) {
  const { isPassing: _, retryAfterMs: __, ...facts } = fault
  const isAnswered = facts.statusCode !== undefined || facts.networkCode !== undefined
  return refusal(name, outcome.hasBegun ? 'broken-off' : reasonOf(fault), {
    attempts,
    ...facts,
    // Neither a server nor the network: code of the model, such as one that cannot stream.
    ...(!isAnswered && !outcome.hasStream && { failedIn: 'doStream' }),
  })
}

async function wait(waitMs: number, stop: Stop): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined
  try {
    await stop.until(new Promise<void>((resolve) => (timer = setTimeout(resolve, waitMs))))
  } finally {
    clearTimeout(timer)
  }
}
