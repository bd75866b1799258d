import { defineBracket, isEvent, SessionError, type Session, type SessionEvent } from '@tidemark/session-core'
import type { Context } from 'cordis'
import { z } from 'zod'
import type {} from '@tidemark/session-core/cordis'

declare module '@tidemark/session-core' {
  interface SessionEventMap {
    'index/start': { readonly folder: string }
    'index/end': { readonly fileCount: number }
  }
}

/** One at a time in a session. It may outlive turns; only its end, or a boundary, ends it. */
export const indexing = defineBracket({
  name: 'indexing',
  open: 'index/start',
  close: 'index/end',
  scope: 'session',
})

const events = {
  'index/start': { schema: z.strictObject({ folder: z.string() }) },
  'index/end': { schema: z.strictObject({ fileCount: z.int().min(0) }) },
}

export const name = 'indexer'
export const inject = ['sessions']

export function apply(ctx: Context): void {
  ctx.effect(
    () => ctx.sessions.define({ owner: name, events, brackets: [indexing] }),
    'vocabulary of the indexer',
  )
  for (const session of ctx.sessions) startAgain(session)
  ctx.on('tidemark/created', startAgain)
}

/** @throws SessionError `BUSY` when an index is being made right now. */
export function startIndex(session: Session, folder: string): SessionEvent<'index/start'> {
  const live = session.open(indexing).find(({ status }) => status === 'live')
  if (live) throw new SessionError('BUSY', `an index is being made since seq ${live.seq}`, { seq: live.seq })
  return session.append('index/start', { folder })
}

/** An orphaned start is one whose process is gone: nobody works on it any more, so the work begins again. */
function startAgain(session: Session): void {
  for (const { event } of session.open(indexing)) {
    if (isEvent(event, 'index/start')) startIndex(session, event.data.folder)
  }
}
