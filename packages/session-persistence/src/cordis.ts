import type {} from 'cordis'
import type { AuthorizeRequest, Persistence, SessionStorage } from '@tidemark/session-persistence'

declare module 'cordis' {
  interface Context {
    sessionPersistence: Persistence
    sessionStorage: SessionStorage
  }
  interface Events {
    'tidemark/authorize'(request: AuthorizeRequest): void | Promise<void>
  }
}
