import type {} from '@deepseek-ai/cordis'
import type { AuthorizeRequest, Persistence, SessionStorage } from '@tidemark/session-persistence'

declare module '@deepseek-ai/cordis' {
  interface Context {
    sessionPersistence: Persistence
    sessionStorage: SessionStorage
  }
  interface Events {
    'tidemark/authorize'(request: AuthorizeRequest): void | Promise<void>
  }
}
