import type { Host, Sessions, SessionView } from '@tidemark/session-core'
import { Authorization, type AuthorizationMode } from './authorization.ts'
import { OpenSessions } from './open-sessions.ts'
import type { Claim, EnabledBy, SessionStorage } from './storage.ts'
import { withWriter, type StoredSession } from './stored-session.ts'
import { TypedStorage } from './typed-storage.ts'

export interface StoreOptions {
  readonly storage: SessionStorage
  readonly enabledBy: EnabledBy
  readonly flushDelayMs: number
  readonly pendingSizeBytesMax: number
  readonly authorize: AuthorizationMode
}

/** What every operation on stored sessions goes through. */
export class StoreAccess {
  readonly storage: TypedStorage
  readonly authorization: Authorization
  readonly open: OpenSessions

  constructor(
    private readonly host: Host,
    private readonly sessions: Sessions,
    private readonly options: StoreOptions,
  ) {
    const { storage, flushDelayMs, pendingSizeBytesMax, authorize } = options
    this.storage = new TypedStorage(storage)
    this.authorization = new Authorization(host, authorize)
    const report = (error: unknown): void => this.report(error)
    const { capabilities } = storage
    this.open = new OpenSessions({ sessions, capabilities, flushDelayMs, pendingSizeBytesMax, report })
  }

  report(error: unknown): void {
    this.host.logger.error(error)
  }

  newClaim(carry: readonly string[] = []): Claim {
    const incarnation = globalThis.crypto.randomUUID()
    return { incarnation, enabledBy: this.options.enabledBy, ...(carry.length > 0 && { carry }) }
  }

  /** @throws SessionError `UNKNOWN_TYPE` and what else a history can be refused for. */
  view(stored: StoredSession, carry: readonly string[]): SessionView {
    try {
      return this.sessions.view(stored.header, stored.events, carry)
    } catch (error) {
      throw withWriter(stored, error)
    }
  }
}
