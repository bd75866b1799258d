import { JournalStorage } from '@tidemark/session-persistence/journal'
import type { Subject } from '@tidemark/session-persistence/testkit'

export type Durability = 'lazy' | 'strict'

export const journalWith = (durability: Durability): Subject => ({
  open: (port) => new JournalStorage({ root: '/journal', port, durability }),
})
