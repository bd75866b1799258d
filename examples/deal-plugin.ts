import { defineBracket } from '@tidemark/session-core'
import type { Context } from 'cordis'
import { z } from 'zod'
import type {} from '@tidemark/session-core/cordis'

declare module '@tidemark/session-core' {
  interface SessionEventMap {
    'deal/start': { readonly id: string }
    'deal/end': { readonly id: string }
  }
}

/** An offer makes no sense without its answer: the model sees a deal whole, or as a summary. */
export const dealing = defineBracket({
  name: 'dealing',
  open: 'deal/start',
  close: 'deal/end',
  key: ({ data }) => data.id,
  scope: 'session',
  indivisible: true,
})

const schema = z.strictObject({ id: z.string() })

export const name = 'dealer'
export const inject = ['sessions']

export function apply(ctx: Context): void {
  const events = { 'deal/start': { schema }, 'deal/end': { schema } }
  ctx.effect(() => ctx.sessions.define({ owner: name, events, brackets: [dealing] }))
}
