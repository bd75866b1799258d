import { step, transcript, turn } from '@tidemark/session-core'
import type { Bracket, Projection, SessionView, TranscriptMessage } from '@tidemark/session-core'
import { compaction } from './bracket.ts'
import type { FactsState, PinnedFact } from './fact.ts'

/** One place in the transcript and the last seq that it stands for: that of a call's result, for one. */
export interface Span {
  readonly seq: number
  readonly through: number
}

/** What a plan is made on. */
export interface Ground {
  readonly messages: readonly TranscriptMessage[]
  /** In the order of their seqs. */
  readonly spans: readonly Span[]
  /** Where something live began: a call, another plugin's bracket, a message that a call may join. Not turns and steps. */
  readonly liveSeqs: readonly number[]
  /** Events in the log. */
  readonly length: number
  /** In force. */
  readonly facts: readonly PinnedFact[]
  readonly hasEnded: boolean
}

export interface GroundTerms {
  readonly facts: Projection<FactsState>
  readonly bracketsOf: (type: string) => readonly Bracket[]
}

const passable: ReadonlySet<string> = new Set([turn.name, step.name, compaction.name])

/** Costs what stands in the transcript and what is open, not what is in the log. */
export function readGround(session: SessionView, { facts, bracketsOf }: GroundTerms): Ground {
  const { entries, stream, joins } = session.read(transcript)
  const spans = [...entries.chunks.flat(), ...entries.tail]
  const joined = joins ? spans.at(-1) : undefined
  const held = new Set<Bracket>()
  for (const type of session.log.types.keys()) {
    for (const bracket of bracketsOf(type)) if (!passable.has(bracket.name)) held.add(bracket)
  }
  const live = [...held].flatMap((bracket) => session.open(bracket)).filter(({ status }) => status === 'live')
  return {
    messages: session.messages(),
    spans,
    // A stream that is cut short stands where it began; a call that comes now stands with the message before it.
    liveSeqs: [...live, ...(stream ? [stream] : []), ...(joined ? [joined] : [])].map(({ seq }) => seq),
    length: session.log.length,
    facts: session.read(facts).facts,
    hasEnded: hasEnded(session),
  }
}

/** Whether a fact was ever unpinned: where none is in force, an earlier one may still be seen. */
export function hasEnded({ log }: SessionView): boolean {
  return log.types.has('fact/unpinned')
}
