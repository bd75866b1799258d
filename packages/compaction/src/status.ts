import type { SessionErrorCode, SessionView } from '@tidemark/session-core'
import { compaction } from './bracket.ts'
import { budgetOf } from './budget.ts'
import { automaticAttempts, compactions } from './compactions.ts'
import type { Settings } from './config.ts'
import { mayTry } from './may-try.ts'
import type { NothingReason } from './result.ts'
import { messagesTokens } from './token-count.ts'

/** How a session stands to its budget. */
export interface CompactionStatus {
  /** Of the transcript. */
  readonly tokens: number
  readonly contextTokensMax?: number
  /** Whether it is time to compact; never, without a budget. */
  readonly isOver: boolean
  /** Automatic compactions in a row that came to nothing, as the log tells. */
  readonly attempts: number
  /** There were so many of them that none is begun until the transcript has grown by half the context. */
  readonly isExhausted: boolean
  readonly live?: {
    readonly id: string
    /** The seq of its start. */
    readonly since: number
  }
}

/**
 * Why a session over its budget stays so. `not-enough`: the last compaction was applied and left too much; `refused`:
 * nothing could be begun.
 */
export type OverBudgetReason =
  NothingReason | 'not-enough' | 'attempts-exhausted' | 'facts-too-large' | 'refused'

/** What `tidemark/over-budget` tells. */
export type OverBudget =
  (CompactionStatus & { readonly reason: Exclude<OverBudgetReason, 'refused'> }) | OverBudgetRefused

/** It may be over its budget. Without a status where nobody can tell, since a tokenizer fails for one. */
export interface OverBudgetRefused extends Partial<CompactionStatus> {
  readonly reason: 'refused'
  /** What it was refused with; `START_FAILED` where something foreign threw. */
  readonly code: SessionErrorCode | 'START_FAILED'
  /** How many in a row, in this process. The next one waits for the growth that a recorded failure waits for. */
  readonly refusals: number
}

/** Reads only. `isDue`: an automatic compaction may begin now, as far as the log says. */
export function readStatus(
  session: SessionView,
  settings: Settings,
): { readonly status: CompactionStatus; readonly isDue: boolean } {
  const { tokenizer, contextTokensMax, attemptsMax } = settings
  const tokens = messagesTokens(session.messages(), tokenizer)
  const { count: attempts, tokensAtLast, ...last } = automaticAttempts(session.read(compactions))
  const budget = budgetOf(settings)
  const isOver = budget !== undefined && tokens > budget.triggerTokens
  const isLeftOver = budget !== undefined && (last.tokensLeft ?? 0) > budget.triggerTokens
  const tokensLeft = isLeftOver ? last.tokensLeft : undefined
  const trial = { attempts, attemptsMax, tokensNow: tokens, tokensAtLast, tokensLeft }
  const isAllowed = contextTokensMax === undefined || mayTry({ ...trial, contextTokensMax })
  const open = session.open(compaction).find(({ status }) => status === 'live')
  const status = {
    tokens,
    ...(contextTokensMax !== undefined && { contextTokensMax }),
    isOver,
    attempts,
    isExhausted: attempts >= attemptsMax && !isAllowed,
    ...(open && { live: Object.freeze({ id: String(open.key), since: open.seq }) }),
  }
  const isDue = isOver && isAllowed && open === undefined
  return { status: Object.freeze(status), isDue }
}
