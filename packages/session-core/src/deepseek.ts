import type {} from '@deepseek-ai/cordis'
import type { Session, SessionEvent, SessionRecovered, Sessions } from '@tidemark/session-core'

declare module '@deepseek-ai/cordis' {
  interface Context {
    sessions: Sessions
  }
  interface Events {
    'tidemark/created'(session: Session): void
    'tidemark/event'(session: Session, event: SessionEvent): void
    'tidemark/durable'(session: Session, seq: number): void
    'tidemark/recovered'(session: Session, record: SessionRecovered): void
    'tidemark/flush'(session: Session): void | Promise<void>
    'tidemark/disposed'(session: Session): void
  }
}
