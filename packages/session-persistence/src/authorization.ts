import { SessionError, type Host, type SessionHeader } from '@tidemark/session-core'
import { unknownSession } from './unknown-session.ts'

export type StoredOperation =
  | 'create'
  | 'flush'
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
  /** In what opens a session, a `create`, `resume` or `fork`: what `incarnation` of that session will be. */
  readonly incarnation?: string
  /** Who asks, as the caller handed it over. */
  readonly as: unknown
  /** As it is stored, or, in a `create`, as it is to be. Absent where nothing is stored, or no header can be read. */
  readonly header?: SessionHeader
  /** In a fork or a salvage: what is given of the header of the session that is to be. */
  readonly childHeader?: Pick<SessionHeader, 'id' | 'meta'>
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

/** A refusal is told at a multiple of this, in milliseconds: how long it took says nothing of what there is. */
const refusalMs = 50

/** Whether callers are asked about: `off` allows everybody. */
export type AuthorizationMode = 'off' | 'required'

type Listener = (request: AuthorizeRequest) => unknown

/** Asks the bus whether a caller may do something. Without a caller, and without listeners, the answer is no. */
export class Authorization {
  constructor(
    private readonly host: Host,
    private readonly mode: AuthorizationMode,
    /** Of what is stored. */
    private readonly headerOf: (id: string) => Promise<SessionHeader | undefined>,
  ) {}

  async allows(asked: Question, { listenersMin = 1 } = {}): Promise<boolean> {
    if (this.mode === 'off') return true
    if (asked.as === undefined) return false
    const listeners = this.listenersTo(asked)
    if (listeners.length < Math.max(1, listenersMin)) return false
    const header = asked.header ?? (await this.findHeader(asked.sessionId))
    const question = { ...asked, ...(header && { header }) }
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
    const since = performance.now()
    if (await this.allows(question)) return
    const tookMs = performance.now() - since
    await new Promise((resolve) => setTimeout(resolve, Math.ceil(tookMs / refusalMs) * refusalMs - tookMs))
    throw unknownSession(question.sessionId)
  }

  /**
   * As `require`, and gives a way to ask again once the session is there, before anybody has it: a listener that went
   * away meanwhile saw nothing of how it was made, and a yes of those that are left does not stand for its own.
   */
  async requireOpening(question: Question): Promise<() => Promise<void>> {
    const listenersMin = this.mode === 'off' ? 0 : this.listenersTo(question).length
    await this.require(question)
    return async () => {
      if (!(await this.allows(question, { listenersMin }))) throw unknownSession(question.sessionId)
    }
  }

  /** Asks again before each write of a session that was opened. `undefined` where nobody is asked about. */
  toWrite(header: SessionHeader, as: unknown): (() => Promise<void>) | undefined {
    if (this.mode === 'off') return undefined
    const { id: sessionId } = header
    return async () => {
      if (await this.allows({ operation: 'flush', sessionId, as, header })) return
      throw new SessionError('DENIED', `${sessionId}: its caller may not write to it any more`, { sessionId })
    }
  }

  private listenersTo(question: Question): readonly unknown[] {
    return this.host.events.dispatch('emit', ['tidemark/authorize', question])
  }

  private async findHeader(id: string): Promise<SessionHeader | undefined> {
    try {
      return await this.headerOf(id)
    } catch (error) {
      this.host.logger.error(error) // what is asked for meets it too
      return undefined
    }
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
