import type { Host, Session, SessionEvent } from '@tidemark/session-core'

/** The part of a cordis 4 context that compaction uses. */
export interface CompactionHost extends Host {
  readonly fiber: Host['fiber'] & { readonly name: string }
  on(
    event: 'tidemark/created' | 'tidemark/durable' | 'tidemark/disposed',
    listener: (session: Session) => void,
  ): () => unknown
  on(event: 'tidemark/event', listener: (session: Session, event: SessionEvent) => void): () => unknown
}
