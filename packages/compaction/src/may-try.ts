/** Of the context: how much a transcript grows before the second try, which is doubled for each one after. */
const growthShare = 1 / 20
/** Of the context: after so much growth it is another transcript, and what failed before says nothing of it. */
const renewalShare = 1 / 2

export interface Trial {
  /** Automatic compactions in a row that came to nothing. */
  readonly attempts: number
  readonly attemptsMax: number
  readonly tokensNow: number
  readonly contextTokensMax: number
  /** Of the transcript when the last one of them began; none in a log that does not say. */
  readonly tokensAtLast?: number | undefined
  /** What the last one that was applied left, where that was too much still. */
  readonly tokensLeft?: number | undefined
}

/**
 * Whether an automatic compaction may be tried. It rests on what the log says alone, so that a summarizer which ends
 * the process each time is not asked more often than one which only fails.
 */
export function mayTry({ attempts, attemptsMax, tokensNow, ...trial }: Trial): boolean {
  const { contextTokensMax, tokensAtLast, tokensLeft } = trial
  if (attempts === 0)
    return tokensLeft === undefined || tokensNow - tokensLeft >= contextTokensMax * growthShare
  if (tokensAtLast === undefined) return attempts < attemptsMax
  const renewal = contextTokensMax * renewalShare
  const growth = Math.min(contextTokensMax * growthShare * 2 ** (attempts - 1), renewal)
  return tokensNow - tokensAtLast >= (attempts < attemptsMax ? growth : renewal)
}
