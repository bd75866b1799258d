// What a plugin author writes. The packaging test compiles it against the packed packages, once for each host.
import type { Context } from 'cordis'
import type {} from '@tidemark/compaction/cordis'
import type {} from '@tidemark/session-continuity/cordis'
import type {} from '@tidemark/session-core/cordis'
import type {} from '@tidemark/session-persistence/cordis'
import * as compaction from '@tidemark/compaction'
import * as continuity from '@tidemark/session-continuity'
import { isSessionError, transcript, type Session } from '@tidemark/session-core'
import * as persistence from '@tidemark/session-persistence'
import * as journal from '@tidemark/session-persistence/journal'
import * as memory from '@tidemark/session-persistence/memory'

declare module '@tidemark/session-core' {
  interface SessionEventMap {
    'garden/watered': { plant: string }
  }
}

export const name = 'garden'
export const inject = ['sessions']
export const plugins = [compaction, persistence, journal, memory]

export function apply(ctx: Context) {
  ctx.on('tidemark/created', (session: Session) => {
    session.append('garden/watered', { plant: 'fern' })
    // @ts-expect-error a plant has a name
    session.append('garden/watered', { plant: 1 })
  })
  void ctx.plugin(continuity, { root: 'data', witness: 'witness' })
  // @ts-expect-error no such event
  ctx.on('tidemark/nothing', () => undefined)
  const sessions = ctx.sessions
  return { sessions, continuity: ctx.continuity, transcript, isSessionError }
}
