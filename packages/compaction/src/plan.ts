import { SessionError, type TranscriptMessage } from '@tidemark/session-core'
import { roomFor, summaryTokensMin, type Budget } from './budget.ts'
import { checkedRange, cutsOf, messagesIn, safeBelow, startsOf, type Cut } from './cut.ts'
import type { SeqRange } from './event.ts'
import { gainIn } from './gain.ts'
import type { Ground } from './ground.ts'
import { findSummary, isFacts } from './rendering.ts'
import type { NothingReason } from './result.ts'
import { messageTokens, messagesTokens } from './token-count.ts'

/** Where no summary of so many UTF-8 bytes would make the transcript smaller, it is not worth one. */
const gainSizeBytesMin = 64

/** How many stretches between things that are live are looked at, the longest ones. */
const stretchesMax = 4

/** What a compaction would do. */
export type CompactionPlan =
  | { readonly kind: 'nothing'; readonly reason: NothingReason }
  | {
      readonly kind: 'replace'
      readonly range: SeqRange
      /** What the model sees of the range now, deeply frozen. */
      readonly messages: readonly TranscriptMessage[]
      /**
       * A summary of more UTF-8 bytes would be no smaller than what it replaces. Pinned facts are not counted. Where
       * the host has a budget in tokens, those decide.
       */
      readonly gainSizeBytesMax: number
      readonly tokens?: PlanTokens
    }

/** Tokens of the transcript, or of what will stand in it; frames included. */
export interface PlanTokens {
  readonly now: number
  /** With a summary as long as it may be: never more than the context. */
  readonly afterMax: number
  /** Of the messages that stay. */
  readonly retained: number
  /** Of the block. */
  readonly facts: number
  /** A longer summary does not fit. */
  readonly summaryMax: number
  /** A longer summary would be no smaller than what it replaces. */
  readonly gainMax: number
}

export interface PlanWishes {
  /** Default: everything before the retained messages. */
  readonly range?: SeqRange | undefined
  /** How many messages at the end stay as they are, where no range is given. Default: as the budget says. */
  readonly retainMessages?: number | undefined
  readonly budget?: Budget | undefined
}

/**
 * Chooses or checks a range, so that no call is split from its result, and nothing indivisible or live is cut. Pure;
 * costs what stands in the transcript.
 *
 * @throws SessionError `INVALID_SEQ` for a range that cuts; `details.seq` is the nearest place that does not, if any.
 * `PINS_TOO_LARGE` when the facts alone do not fit the budget.
 */
export function decidePlan(ground: Ground, wishes: PlanWishes): CompactionPlan {
  const { range, budget } = wishes
  if (range !== undefined) return planFor(ground, checkedRange(ground, range), budget)
  const plan = planOfOwn(ground, wishes)
  if (plan.kind === 'replace') return plan
  const unheld = { ...ground, liveSeqs: [], held: ground.held.filter(({ through }) => through < Infinity) }
  const isSame = ground.liveSeqs.length === 0 && unheld.held.length === ground.held.length
  return !isSame && planFrom(unheld, 0, wishes).kind === 'replace' ? nothing('held-open') : plan
}

/**
 * From the beginning; where a call is live, of the stretches before, between and after such the one in which most is
 * gained. What is live stays where it is, and its end joins it there.
 */
function planOfOwn(ground: Ground, wishes: PlanWishes): CompactionPlan {
  const plans = longest(ground, startsOf(ground)).map((from) => planFrom(ground, from, wishes))
  const replacing = plans.filter((plan) => plan.kind === 'replace')
  const [best] = replacing.toSorted((one, other) => gainOf(other) - gainOf(one))
  return best ?? plans[0] ?? nothing('too-short')
}

function gainOf({ gainSizeBytesMax, tokens }: Extract<CompactionPlan, { kind: 'replace' }>): number {
  return tokens?.gainMax ?? gainSizeBytesMax
}

/** The starts of the longest stretches, the first one always. */
function longest({ length }: Ground, starts: readonly number[]): readonly number[] {
  const [first = 0, ...rest] = starts
  const lengthOf = (from: number): number => (starts.find((start) => from < start) ?? length) - from
  return [first, ...rest.sort((one, other) => lengthOf(other) - lengthOf(one)).slice(0, stretchesMax - 1)]
}

function planFrom(ground: Ground, from: number, wishes: PlanWishes): CompactionPlan {
  const { retainMessages, budget } = wishes
  if (retainMessages !== undefined) return planFor(ground, rangeByCount(ground, from, retainMessages), budget)
  return budget ? planByTokens(ground, from, budget) : nothing('too-short')
}

function rangeByCount(ground: Ground, from: number, retainMessages: number): SeqRange {
  if (!Number.isInteger(retainMessages) || retainMessages < 0) {
    throw new SessionError('INVALID_SEQ', 'messages to retain are counted from 0')
  }
  const { messages, length } = ground
  const retained = messages.length - retainMessages
  if (retained <= 0) return { from, through: from - 1 }
  const through = (messages[retained]?.seq ?? length) - 1
  return { from, through: safeBelow(ground, { from, through }) }
}

/**
 * Retains what the budget is for, and with it the last message of a person and what follows it, where that leaves
 * room for a good summary in a transcript which calls for no compaction. Where it does not, or is worth nothing while
 * one is called for, that message goes too. The last piece always stays.
 */
function planByTokens(ground: Ground, from: number, budget: Budget): CompactionPlan {
  const { tokenizer, retainTokens, triggerTokens } = budget
  const { retainedMax, retainedWished } = roomFor(ground, from, budget)
  const cuts = cutsOf(ground, { from, tokensOf: (message) => messageTokens(message, tokenizer) })
  const now = cuts[0]?.retained ?? 0
  const usable = cuts.filter(({ after }) => after > 0 || retainTokens === 0)
  const fitting = usable.find(({ retained, after }) => after <= retainTokens && retained <= retainedWished)
  const smallest = fitting ?? usable.findLast(({ retained }) => retained <= retainedMax)
  if (smallest === undefined) return nothing(now > retainedMax ? 'too-large-to-retain' : 'too-short')
  const planAt = ({ through }: Cut): CompactionPlan => planFor(ground, { from, through }, budget)
  const personSeq = ground.messages.findLast(isPersons)?.seq ?? Infinity
  if (smallest.through < personSeq) return planAt(smallest)
  const before = usable.findLast(({ through }) => through < personSeq)
  if (before === undefined || before.retained > retainedWished) return planAt(smallest)
  const plan = planAt(before)
  return plan.kind === 'replace' || now <= triggerTokens ? plan : planAt(smallest)
}

function isPersons(message: TranscriptMessage): boolean {
  return message.role === 'user' && message.parts.some(({ author }) => author === 'human')
}

function planFor(ground: Ground, range: SeqRange, budget: Budget | undefined): CompactionPlan {
  if (range.through < range.from) return nothing('too-short')
  const messages = messagesIn(ground, range)
  const now = budget ? messagesTokens(ground.messages, budget.tokenizer) : 0
  // A summary alone is made shorter only where the transcript is too long with it.
  if (isCompacted(messages) && now <= (budget?.triggerTokens ?? now)) return nothing('unchanged')
  const gain = gainIn(messages, ground.facts, budget?.tokenizer)
  const isWorth = budget ? gain.tokens >= summaryTokensMin : gain.sizeBytes >= gainSizeBytesMin
  if (!isWorth) return nothing('too-short')
  const plan = { kind: 'replace', range, messages, gainSizeBytesMax: gain.sizeBytes } as const
  if (budget === undefined) return plan
  const { facts, frame, retainedMax } = roomFor(ground, range.from, budget)
  const retained = now - messagesTokens(messages, budget.tokenizer)
  if (retained > retainedMax) return nothing('too-large-to-retain')
  const others = facts + frame + retained
  // So long that the result calls for no compaction, where that is possible.
  const wished = Math.max(summaryTokensMin, budget.triggerTokens - others)
  const summaryMax = Math.min(wished, budget.summaryTokensMax)
  const afterMax = others + Math.min(summaryMax, gain.tokens)
  return { ...plan, tokens: { now, afterMax, retained, facts, summaryMax, gainMax: gain.tokens } }
}

/** Whether there is nothing here but facts and one summary. */
function isCompacted(messages: readonly TranscriptMessage[]): boolean {
  const said = messages.filter((message) => !isFacts(message))
  return (
    said.length === 0 || (said.length === 1 && said.every((message) => findSummary(message) !== undefined))
  )
}

function nothing(reason: NothingReason): CompactionPlan {
  return { kind: 'nothing', reason }
}
