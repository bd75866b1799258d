import {
  boundaryType,
  defineBracket,
  defineProjection,
  isEvent,
  type Session,
  type SessionEvent,
} from '@tidemark/session-core'
import type { Context } from 'cordis'
import { z } from 'zod'
import type {} from '@tidemark/session-core/cordis'

declare module '@tidemark/session-core' {
  interface SessionEventMap {
    'run/start': { readonly run: string }
    'run/end': { readonly run: string; readonly outcome: 'done' | 'failed' | 'unloaded' }
  }
}

/** Several at a time, each known by an id of its own. */
export const running = defineBracket({
  name: 'running',
  open: 'run/start',
  close: 'run/end',
  scope: 'session',
  key: ({ data }) => data.run,
  settle: ({ data }) => ({ type: 'run/end', data: { run: data.run, outcome: 'unloaded' } }),
})

/** A state is kept in memory and in snapshots, so it has a bound. */
const lostMax = 100

interface Runs {
  readonly open: readonly string[]
  /** Those that a boundary found open, oldest first, also where the same run was begun again. */
  readonly lost: readonly string[]
}

export const runs = defineProjection<Runs>({
  name: 'runner:runs',
  version: 1,
  init: () => ({ open: [], lost: [] }),
  apply(state, event) {
    if (event.type === boundaryType) return { open: [], lost: [...state.lost, ...state.open].slice(-lostMax) }
    if (isEvent(event, 'run/start')) return { ...state, open: [...state.open, event.data.run] }
    if (!isEvent(event, 'run/end')) return state
    return { ...state, open: state.open.filter((run) => run !== event.data.run) }
  },
})

const events = {
  'run/start': { schema: z.strictObject({ run: z.string() }) },
  'run/end': { schema: z.strictObject({ run: z.string(), outcome: z.enum(['done', 'failed', 'unloaded']) }) },
}

export const name = 'runner'
export const inject = ['sessions']

export function apply(ctx: Context): void {
  ctx.effect(() => ctx.sessions.define({ owner: name, events, brackets: [running], projections: [runs] }))
}

/** @throws SessionError `ALREADY_OPEN` when this run is live. */
export function startRun(session: Session, run: string): SessionEvent<'run/start'> {
  return session.append('run/start', { run })
}
