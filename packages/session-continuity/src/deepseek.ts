import type {} from '@deepseek-ai/cordis'
import type { Continuity, ContinuityStore } from '@tidemark/session-continuity'

declare module '@deepseek-ai/cordis' {
  interface Context {
    continuity: Continuity
    continuityStore: ContinuityStore
  }
}
