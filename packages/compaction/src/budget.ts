import { SessionError } from '@tidemark/session-core'
import { carriedBy } from './carried.ts'
import type { Settings } from './config.ts'
import type { Ground } from './ground.ts'
import { factsBlock, summaryMessage } from './rendering.ts'
import { messagesTokens, messageTokens } from './token-count.ts'
import type { Tokenizer } from './tokenizer.ts'

/** Where fewer tokens are left for a summary, none is made. */
export const summaryTokensMin = 64
const retainedShare = 1 / 4
/** Of the context, kept free for a summary that says something. */
const summaryShare = 1 / 8

/** How much of a model's context the transcript may take. */
export interface Budget {
  readonly tokenizer: Tokenizer
  readonly contextTokensMax: number
  /** More than this, and it is time to compact. */
  readonly triggerTokens: number
  readonly retainTokens: number
  readonly summaryTokensMax: number
}

/** None where the host does not say how large the context is. */
export function budgetOf(settings: Settings): Budget | undefined {
  const { contextTokensMax, triggerRatio, tokenizer, summarySizeBytesMax } = settings
  if (contextTokensMax === undefined) return undefined
  return {
    tokenizer,
    contextTokensMax,
    triggerTokens: Math.floor(contextTokensMax * triggerRatio),
    retainTokens: settings.retainTokens ?? Math.floor(contextTokensMax * retainedShare),
    // No text has more tokens than bytes.
    summaryTokensMax: summarySizeBytesMax,
  }
}

/** What a compaction puts into the transcript whatever the summary says, and what it leaves of the budget. */
export interface Room {
  /** Tokens of the block. */
  readonly facts: number
  /** Tokens of a summary without its text. */
  readonly frame: number
  /** Tokens that may stay beside the facts and the smallest summary. */
  readonly retainedMax: number
  /** The same beside a good summary, in a result that calls for no compaction. */
  readonly retainedWished: number
}

/** @throws SessionError `PINS_TOO_LARGE` when the facts alone do not fit; `details.keys` names them. */
export function roomFor(ground: Ground, from: number, budget: Budget): Room {
  const { tokenizer, contextTokensMax, triggerTokens, summaryTokensMax } = budget
  const block = factsBlock(carriedBy(ground.facts, from, ground.hasEnded))
  const facts = messagesTokens(block, tokenizer)
  const frame = messageTokens(summaryMessage(''), tokenizer)
  const least = facts + frame + summaryTokensMin
  if (ground.facts.length > 0 && least > contextTokensMax) {
    throw overBudget(
      ground.facts.map(({ key }) => key),
      facts,
      contextTokensMax,
    )
  }
  const summaryWished = Math.min(summaryTokensMax, Math.floor(contextTokensMax * summaryShare))
  const retainedWished = triggerTokens - facts - frame - Math.max(summaryTokensMin, summaryWished)
  return { facts, frame, retainedMax: contextTokensMax - least, retainedWished }
}

export function overBudget(keys: readonly string[], tokens: number, contextTokensMax: number): SessionError {
  return new SessionError(
    'PINS_TOO_LARGE',
    `${keys.length} facts of ${tokens} tokens do not fit a context of ${contextTokensMax}`,
    { keys: Object.freeze([...keys]), tokens },
  )
}
