import type { Host, Session } from '@tidemark/session-core'

/** The part of a cordis 4 context that compaction uses. */
export interface CompactionHost extends Host {
  readonly fiber: Host['fiber'] & { readonly name: string }
  on(event: 'tidemark/disposed', listener: (session: Session) => void): () => unknown
}
