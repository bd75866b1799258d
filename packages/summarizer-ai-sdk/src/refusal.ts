import { SessionError, type SessionErrorCode } from '@tidemark/session-core'

/**
 * Why there is no summary. API: reasons are added, never renamed.
 *
 * - `truncated`: the model came to its limit of tokens; `filtered`: a content filter stopped it.
 * - `empty`: no text, or blank; `too-large`: more than was asked for; `not-text`: a tool call or a file.
 * - `broken-off`: the stream ended, or failed, before the model had finished.
 * - `rate-limited`, `denied`, `rejected`, `unavailable`: the server said so, or there was none.
 * - `timed-out`, `stalled`: it took too long, or said nothing for too long.
 */
export type RefusalReason = keyof typeof refusals

const refusals = {
  truncated: ['INVALID_PAYLOAD', 'the model came to its limit of tokens before the end of its answer'],
  filtered: ['INVALID_PAYLOAD', 'a content filter stopped the answer'],
  empty: ['INVALID_PAYLOAD', 'the model answered nothing'],
  'too-large': ['INVALID_PAYLOAD', 'the answer is larger than the bound'],
  'not-text': ['INVALID_PAYLOAD', 'the model answered with something else than text'],
  'broken-off': ['INVALID_PAYLOAD', 'the answer broke off before its end'],
  'rate-limited': ['BACK_PRESSURE', 'the server is asked too often'],
  denied: ['DENIED', 'the server does not let us in'],
  rejected: ['INVALID_PAYLOAD', 'the server does not take the request'],
  unavailable: ['OUTCOME_UNKNOWN', 'no answer could be had'],
  'timed-out': ['OUTCOME_UNKNOWN', 'the answer took too long'],
  stalled: ['OUTCOME_UNKNOWN', 'the model said nothing for too long'],
} as const satisfies Record<string, readonly [SessionErrorCode, string]>

/** What is known besides: numbers and names out of closed sets, never what a server or a model wrote. */
export interface RefusalFacts {
  readonly attempts?: number
  readonly statusCode?: number
  readonly networkCode?: string
  readonly errorName?: string
  readonly finishReason?: string
  /** The call of the model that gave no stream. */
  readonly failedIn?: 'doStream'
  readonly sizeBytesMax?: number
}

/**
 * No `cause`: errors of the AI SDK carry the request with the transcript in it, headers, addresses and what the
 * server answered, which may quote a key. Whoever needs them has the provider's own logging.
 */
export function refusal(summarizer: string, reason: RefusalReason, facts: RefusalFacts): SessionError {
  const [code, sentence] = refusals[reason]
  const known = Object.entries(facts).map(([name, value]) => `, ${name} ${String(value)}`)
  return new SessionError(
    code,
    `summarizer ${summarizer}: ${sentence}${known.join('')}; there is no summary`,
    {
      reason,
      ...facts,
    },
  )
}
