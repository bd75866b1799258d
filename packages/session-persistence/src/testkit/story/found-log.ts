import { isDeepStrictEqual } from 'node:util'
import { encodeEvent } from '../../encoded-event.ts'
import type { StoredLog, Tail } from '../../storage.ts'
import type { Problem, ProblemKind } from '../finding.ts'
import type { KnownSession } from './ledger.ts'

/** A log as it was read. */
export interface FoundLog {
  readonly header: unknown
  readonly texts: readonly string[]
  readonly tails: readonly Tail[]
  /** The last seq that the storage says it can prove durable. */
  readonly durable: number
}

export async function collect({ header, batches }: StoredLog): Promise<FoundLog> {
  const texts: string[] = []
  const tails: Tail[] = []
  let durable = -1
  for await (const { events, tail, isDurable } of batches) {
    for (const event of events) texts.push(encodeEvent(event).json)
    tails.push(tail)
    if (isDurable) durable = tail.seq
  }
  return { header, texts, tails, durable }
}

/** What is wrong with a log as it was read, if anything is. */
export function compare(known: KnownSession, found: FoundLog): Problem | undefined {
  const expected = [...known.texts, ...known.pending]
  const { texts } = found
  const other = texts.findIndex((text, seq) => text !== expected[seq])
  if (!isDeepStrictEqual(found.header, known.header)) return problem('altered', 'the header is another')
  if (other !== -1) return differs(other, known, texts)
  const { length } = texts
  if (length < known.texts.length)
    return problem('lost', `${length} events, and ${known.texts.length} were acknowledged`)
  if (length > known.texts.length && length < expected.length)
    return problem('torn', `${length} events: ${known.texts.length} acknowledged, and a part of a batch`)
  return compareTails(known, found)
}

function differs(seq: number, known: KnownSession, texts: readonly string[]): Problem {
  if (seq >= known.texts.length + known.pending.length)
    return problem('invented', `an event of seq ${seq}, which nobody wrote`)
  const isKnown = known.texts.includes(texts[seq] ?? '')
  return problem('altered', `seq ${seq} holds ${isKnown ? 'an event of another seq' : 'another event'}`)
}

function compareTails(known: KnownSession, { texts, tails }: FoundLog): Problem | undefined {
  const last = tails.at(-1)
  if (last === undefined) return problem('torn', 'a log without a batch')
  if (last.seq !== texts.length - 1)
    return problem('altered', `the last batch ends at seq ${last.seq}, and the events at ${texts.length - 1}`)
  if (known.tail === undefined || known.tail.seq === -1) return undefined
  const same = tails.findLast(({ seq }) => seq === known.tail?.seq)
  if (same?.digest === known.tail.digest) return undefined
  return problem('altered', `the digest at seq ${known.tail.seq} is not the one that was acknowledged`)
}

export function problem(kind: ProblemKind, detail: string): Problem {
  return { kind, detail }
}
