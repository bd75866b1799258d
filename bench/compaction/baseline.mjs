import { startHost } from './host.mjs'
import { Player } from './player.mjs'
import { survivalOf } from './survival.mjs'
import { tokensOf } from './tokens.mjs'

export const keptMessages = 32

/** What hosts do without a summary: the end of the transcript, as many messages as there is room for. */
export function dropOldest(messages, tokensMax) {
  let from = messages.length
  let tokens = 0
  for (; from > 0; from--) {
    tokens += tokensOf([messages[from - 1]])
    if (tokens > tokensMax) break
  }
  // A result without its call is refused by providers.
  while (messages[from]?.role === 'tool') from++
  return messages.slice(from)
}

export function keepLast(messages, tokensMax) {
  return dropOldest(messages.slice(-keptMessages), tokensMax)
}

/** Beside a view that was compacted: the same budget, or as many tokens as that view took. */
export const baselines = {
  [`keeps the last ${keptMessages}`]: (messages, { contextTokensMax }) =>
    keepLast(messages, contextTokensMax),
  'drops the oldest': (messages, { contextTokensMax }) => dropOldest(messages, contextTokensMax),
  'drops the oldest, to the size of extractive': (messages, { tokens }) => dropOldest(messages, tokens),
}

/** Plays the same script and compacts nothing. `tokensAt`: of the compacted view after so many compactions. */
export async function measureBaselines({ script, facts, marks, settings, tokensAt }) {
  const ctx = await startHost({ settings })
  const player = new Player(ctx, ctx.sessions.create())
  const rounds = Object.fromEntries(Object.keys(baselines).map((policy) => [policy, []]))
  for (const [index, actions] of script.entries()) {
    player.play(actions)
    const compactions = index + 1
    if (!marks.includes(compactions)) continue
    const bounds = { contextTokensMax: settings.contextTokensMax, tokens: tokensAt(compactions) }
    for (const [policy, viewOf] of Object.entries(baselines)) {
      const view = viewOf(player.session.messages(), bounds)
      rounds[policy].push({ compactions, survival: survivalOf(facts, view) })
    }
  }
  await ctx.fiber.dispose()
  return Object.entries(rounds).map(([policy, measured]) => ({ policy, isBaseline: true, rounds: measured }))
}
