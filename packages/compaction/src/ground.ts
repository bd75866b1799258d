import { toolCall, transcript } from '@tidemark/session-core'
import type { Bracket, OpenBracket, Projection, SessionView, TranscriptMessage } from '@tidemark/session-core'
import type { FactsState, PinnedFact } from './fact.ts'
import { withNotices } from './notice.ts'

/** One place in the transcript and the last seq that it stands for: that of a call's result, for one. */
export interface Span {
  readonly seq: number
  readonly through: number
}

/** Where a bracket stands that declares itself indivisible; a live one has no end. */
export interface HeldSpan extends Span {
  readonly bracket: string
}

/** What a plan is made on. */
export interface Ground {
  readonly messages: readonly TranscriptMessage[]
  /** In the order of their seqs. */
  readonly spans: readonly Span[]
  /** Nothing is cut inside of one, and they may overlap. In the order of their seqs. */
  readonly held: readonly HeldSpan[]
  /** Where something began whose end joins it there: a live call, a stream, a message that a call may join. */
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

/** Costs what stands in the transcript and what is open, not what is in the log. */
export function readGround(session: SessionView, { facts, bracketsOf }: GroundTerms): Ground {
  const { entries, stream, joins } = session.read(transcript)
  const spans = [...entries.chunks.flat(), ...entries.tail]
  const messages = session.messages()
  const joined = joins ? spans.at(-1) : undefined
  const calls = session.open(toolCall).filter(isLive)
  return {
    messages,
    spans: withNotices(spans, messages),
    held: heldIn(session, bracketsOf),
    // A stream that is cut short stands where it began; a call that comes now stands with the message before it.
    liveSeqs: [...calls, ...(stream ? [stream] : []), ...(joined ? [joined] : [])].map(({ seq }) => seq),
    length: session.log.length,
    facts: session.read(facts).facts,
    hasEnded: hasEnded(session),
  }
}

function heldIn(session: SessionView, bracketsOf: GroundTerms['bracketsOf']): readonly HeldSpan[] {
  const brackets = new Set([...session.log.types.keys()].flatMap(bracketsOf))
  return [...brackets]
    .filter(({ indivisible }) => indivisible)
    .flatMap((bracket) => {
      const live = session.open(bracket).filter(isLive)
      const found = [...session.spans(bracket), ...live.map(({ seq }) => ({ seq, through: Infinity }))]
      return found.map((span): HeldSpan => ({ ...span, bracket: bracket.name }))
    })
    .sort((one, other) => one.seq - other.seq)
}

function isLive({ status }: OpenBracket): boolean {
  return status === 'live'
}

/** Whether a fact was ever unpinned: where none is in force, an earlier one may still be seen. */
export function hasEnded({ log }: SessionView): boolean {
  return log.types.has('fact/unpinned')
}
