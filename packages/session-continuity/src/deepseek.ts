import type {} from '@deepseek-ai/cordis'
import type { Continuity } from '@tidemark/session-continuity'

declare module '@deepseek-ai/cordis' {
  interface Context {
    continuity: Continuity
  }
}
