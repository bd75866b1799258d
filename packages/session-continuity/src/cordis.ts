import type {} from 'cordis'
import type { Continuity } from '@tidemark/session-continuity'

declare module 'cordis' {
  interface Context {
    continuity: Continuity
  }
}
