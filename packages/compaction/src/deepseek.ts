import type {} from '@deepseek-ai/cordis'
import type {} from '@tidemark/session-core/deepseek'
import type { Compaction } from '@tidemark/compaction'

declare module '@deepseek-ai/cordis' {
  interface Context {
    compaction: Compaction
  }
}
