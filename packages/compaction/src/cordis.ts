import type {} from 'cordis'
import type {} from '@tidemark/session-core/cordis'
import type { Compaction } from '@tidemark/compaction'

declare module 'cordis' {
  interface Context {
    compaction: Compaction
  }
}
