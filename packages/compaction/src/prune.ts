import { isEvent, SessionError, type Session, type SessionEvent } from '@tidemark/session-core'
import { digestOf } from './digest.ts'
import { excerptOf } from './excerpt.ts'
import { partsSizeBytes, resultsShown, type ShownResult } from './results.ts'

export interface PruneOptions {
  /** Larger results are cut, in UTF-8 bytes. At least 512. Default: the plugin's setting, or else 16,384. */
  readonly resultSizeBytesMax?: number
  /** How many of the newest results stay as they are. Default: 4. */
  readonly keepLast?: number
}

/** What was pruned. */
export interface PruneResult {
  /** Seqs of the results, ascending. */
  readonly pruned: readonly number[]
  /** What the transcript got shorter by, in UTF-8 bytes. */
  readonly sizeBytesFreed: number
}

export const resultSizeBytesMin = 512
const resultSizeBytesDefault = 16_384
const keepLastDefault = 4

/**
 * Cuts what is larger than the bound, each result with an event of its own. What was cut stands in the log; what is
 * small enough already is left alone, so that pruning again writes nothing.
 */
export async function prune(
  session: Session,
  { resultSizeBytesMax = resultSizeBytesDefault, keepLast = keepLastDefault }: PruneOptions,
): Promise<PruneResult> {
  refuseBounds(resultSizeBytesMax, keepLast)
  const isLarge = ({ sizeBytes }: ShownResult): boolean => sizeBytes > resultSizeBytesMax
  const large = (): readonly ShownResult[] => {
    const shown = resultsShown(session)
    return shown.slice(0, Math.max(0, shown.length - keepLast)).filter(isLarge)
  }
  const originals = new Map<number, SessionEvent<'tool/result'>>()
  for (const { resultSeq } of large()) {
    const original = await originalOf(session, resultSeq)
    if (original) originals.set(resultSeq, original)
  }
  // The transcript may have changed while originals were read.
  const pruned: number[] = []
  let sizeBytesFreed = 0
  for (const { resultSeq, sizeBytes } of originals.size === 0 ? [] : large()) {
    const original = originals.get(resultSeq)
    if (original === undefined) continue
    sizeBytesFreed += sizeBytes - append(session, original, resultSizeBytesMax)
    pruned.push(resultSeq)
  }
  return Object.freeze({ pruned: Object.freeze(pruned), sizeBytesFreed })
}

/** @returns the size of what stands in its place. */
function append(session: Session, { seq, data }: SessionEvent<'tool/result'>, sizeBytesMax: number): number {
  const parts = excerptOf(data.parts, seq, sizeBytesMax)
  const digest = digestOf(JSON.stringify(data.parts))
  session.append('tool/pruned', { resultSeq: seq, parts, digest, sizeBytes: partsSizeBytes(data.parts) })
  return partsSizeBytes(parts)
}

async function originalOf(session: Session, seq: number): Promise<SessionEvent<'tool/result'> | undefined> {
  const { events } = await session.history({ from: seq, through: seq })
  const event = events[0]
  return event && isEvent(event, 'tool/result') ? event : undefined
}

function refuseBounds(resultSizeBytesMax: number, keepLast: number): void {
  const isBound = Number.isSafeInteger(resultSizeBytesMax) && resultSizeBytesMax >= resultSizeBytesMin
  if (isBound && Number.isSafeInteger(keepLast) && keepLast >= 0) return
  throw new SessionError(
    'INVALID_EVENT',
    `results are pruned to ${resultSizeBytesMin} bytes at least, and those to keep are counted from 0`,
  )
}
