import type { Host } from '@tidemark/session-core'
import { unknownSession } from './unknown-session.ts'

export type StoredOperation =
  | 'create'
  | 'resume'
  | 'fork'
  | 'inspect'
  | 'history'
  | 'follow'
  | 'list'
  | 'verify'
  | 'repair'
  | 'salvage'
  | 'remove'

/** What is asked for, before stored state is touched for a caller. */
export interface Question {
  readonly operation: StoredOperation
  readonly sessionId: string
  /** In a fork or a salvage: the session that is to be. */
  readonly childId?: string
  /** Who asks, as the caller handed it over. */
  readonly as: unknown
}

/**
 * What a listener of `tidemark/authorize` gets. Yes takes an `allow` of every listener; one that denies, says nothing,
 * throws, or takes longer than `authorizeMsMax` has said no. An answer counts until its listener has returned.
 */
export interface AuthorizeRequest extends Question {
  readonly allow: () => void
  readonly deny: () => void
}

/** How long listeners may take, in milliseconds. */
export const authorizeMsMax = 10_000

/** Whether callers are asked about: `off` allows everybody. */
export type AuthorizationMode = 'off' | 'required'

type Listener = (request: AuthorizeRequest) => unknown

/** Asks the bus whether a caller may do something. Without a caller, and without listeners, the answer is no. */
export class Authorization {
  constructor(
    private readonly host: Host,
    private readonly mode: AuthorizationMode,
  ) {}

  async allows(question: Question): Promise<boolean> {
    if (this.mode === 'off') return true
    if (question.as === undefined) return false
    const listeners = this.host.events.dispatch('emit', ['tidemark/authorize', question])
    if (listeners.length === 0) return false
    let timer: NodeJS.Timeout | undefined
    const tooLong = new Promise<boolean[]>((resolve) => {
      timer = setTimeout(() => resolve([false]), authorizeMsMax)
    })
    const answers = Promise.all(listeners.map((listener) => this.ask(listener as Listener, question)))
    const allowed = (await Promise.race([answers, tooLong])).every(Boolean)
    clearTimeout(timer)
    return allowed
  }

  /** @throws SessionError `NOT_FOUND`: a refusal is no different from an id that does not exist. */
  async require(question: Question): Promise<void> {
    if (!(await this.allows(question))) throw unknownSession(question.sessionId)
  }

  private async ask(listener: Listener, question: Question): Promise<boolean> {
    const said = new Set<'allow' | 'deny'>()
    const request = { ...question, allow: () => void said.add('allow'), deny: () => void said.add('deny') }
    try {
      await listener(Object.freeze(request))
    } catch (error) {
      this.host.logger.error(error) // who failed to answer has not said yes
      return false
    }
    return said.has('allow') && !said.has('deny')
  }
}
