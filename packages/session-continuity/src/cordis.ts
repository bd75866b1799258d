import type {} from 'cordis'
import type { Continuity, ContinuityStore } from '@tidemark/session-continuity'

declare module 'cordis' {
  interface Context {
    continuity: Continuity
    continuityStore: ContinuityStore
  }
}
