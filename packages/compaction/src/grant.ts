import { SessionError, type Session } from '@tidemark/session-core'
import type { Bus } from './bus.ts'

/** What a model asks for, before anything is recorded. */
export interface FactQuestion {
  readonly session: Session
  readonly operation: 'pin' | 'unpin'
  readonly key: string
  /** What is to be pinned. */
  readonly text?: string
  /** The event that it is said to be taken from. */
  readonly sourceSeq?: number
  /** Whom the log will name: a model, through the plugin that asks for it. */
  readonly by: string
  /** What is in force under this key now. */
  readonly textInForce?: string
  /** The plugin that hands the wish on. */
  readonly through: string
}

/**
 * What a listener of `tidemark/authorize-fact` gets. Yes takes an `allow` and no `deny`, throw or time-out of any
 * listener; one that says nothing has no say. An answer counts until its listener has returned.
 */
export interface AuthorizeFactRequest extends FactQuestion {
  readonly allow: () => void
  readonly deny: () => void
}

/** How long listeners may take, in milliseconds. */
export const authorizeFactMsMax = 10_000

type Answer = 'allow' | 'deny' | 'none'

/**
 * Asks the bus whether a model may change what is in force.
 * @throws SessionError `DENIED` unless the answer is yes, or there is none and `isOwner`; nothing was recorded.
 */
export async function requireGrant(question: FactQuestion, bus: Bus, isOwner: boolean): Promise<void> {
  const answers = await answersTo(question, bus)
  const isAnswered = answers.some((answer) => answer !== 'none')
  if (!answers.includes('deny') && (isAnswered || isOwner)) return
  throw denied(question)
}

/** What was allowed is not what would happen now, or nothing was. */
export function denied({ session: { id }, operation }: FactQuestion): SessionError {
  return new SessionError('DENIED', `${id}: a model may not ${operation} this; nothing was recorded`, {
    sessionId: id,
  })
}

async function answersTo(question: FactQuestion, bus: Bus): Promise<readonly Answer[]> {
  const listeners = bus.listenersOf('tidemark/authorize-fact', [question])
  let timer: ReturnType<typeof setTimeout> | undefined
  const tooLong = new Promise<readonly Answer[]>((resolve) => {
    timer = setTimeout(() => resolve(['deny']), authorizeFactMsMax)
  })
  const asked = Promise.all(listeners.map((listener) => ask(listener, question, bus)))
  const answers = await Promise.race([asked, tooLong])
  clearTimeout(timer)
  return answers
}

async function ask(
  listener: (...args: unknown[]) => unknown,
  question: FactQuestion,
  bus: Bus,
): Promise<Answer> {
  const said = new Set<Answer>()
  const request: AuthorizeFactRequest = {
    ...question,
    allow: () => void said.add('allow'),
    deny: () => void said.add('deny'),
  }
  try {
    await listener(Object.freeze(request))
  } catch (error) {
    bus.report(error) // who failed to answer has not said yes
    return 'deny'
  }
  if (said.has('deny')) return 'deny'
  return said.has('allow') ? 'allow' : 'none'
}
