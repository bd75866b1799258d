import { textOf } from './view.mjs'

/** Of each fact whether the view shows it word for word, and whether it can be had: there, or by `recall`. */
export function survivalOf(facts, messages, recalled = '') {
  const view = textOf(messages)
  return facts.map(({ depth, kind, text }) => {
    const isShown = view.includes(text)
    return { depth, kind, isShown, isReachable: isShown || recalled.includes(text) }
  })
}

/** Everything that a compaction replaced, as one text. */
export async function recallAll(ctx, session, compactionId) {
  const texts = []
  for (let request = {}; request;) {
    const { events, next } = await ctx.compaction.recall(session, compactionId, request)
    texts.push(textOf(events.map(({ data }) => data)))
    request = next
  }
  return texts.join('\n')
}
