import {
  messagesOf,
  transcript,
  type SessionEvent,
  type SessionView,
  type Sessions,
  type TranscriptMessage,
} from '@tidemark/session-core'
import { digestOf } from './digest.ts'
import type { PinnedFact } from './fact.ts'
import { factTexts } from './rendering.ts'

/** How many keys an end records. */
const missingKeysMax = 32

/** Keys of the facts in force, by whether the transcript shows their text byte for byte. */
export interface FactsVerdict {
  readonly present: readonly string[]
  readonly missing: readonly string[]
}

/** What `compact/end` tells of it. */
export interface RecordedVerdict {
  readonly presentCount: number
  readonly missingCount: number
  /** The first 32. */
  readonly missingKeys: readonly string[]
  /** `factsDigestOf` those that are present. None in a log of before it was told. */
  readonly presentDigest?: string
}

/** SHA-256, in hex, of the JSON text of the list of their `[key, text]`, in the order they are in force. */
export function factsDigestOf(facts: readonly Pick<PinnedFact, 'key' | 'text'>[]): string {
  return digestOf(JSON.stringify(facts.map(({ key, text }) => [key, text])))
}

/**
 * Looks at the transcript alone: what a summary says that it carries is no proof. A pin and a block show what is in
 * force, and nothing else does; but a line that a person labelled after the summary is in no block yet, and stands in
 * the message that made it a fact.
 */
export function verdictOf(
  facts: readonly PinnedFact[],
  messages: readonly TranscriptMessage[],
  summarySeq = Infinity,
): FactsVerdict {
  const shown = new Set(messages.flatMap(factTexts))
  const said = new Map<number, string[]>()
  for (const message of messages) {
    if (message.seq <= summarySeq) continue
    said.set(message.seq, [...(said.get(message.seq) ?? []), ...personTexts(message)])
  }
  const isSaid = ({ seq, text, from }: PinnedFact): boolean =>
    from === 'label' && (said.get(seq) ?? []).some((each) => each.includes(text))
  const keysOf = (wanted: boolean): readonly string[] =>
    Object.freeze(
      facts.filter((fact) => (shown.has(fact.text) || isSaid(fact)) === wanted).map(({ key }) => key),
    )
  return Object.freeze({ present: keysOf(true), missing: keysOf(false) })
}

function personTexts(message: TranscriptMessage): readonly string[] {
  if (message.role !== 'user') return []
  return message.parts.flatMap((part) => (part.type === 'text' && part.author === 'human' ? [part.text] : []))
}

export function recorded({ present, missing }: FactsVerdict, facts: readonly PinnedFact[]): RecordedVerdict {
  const keys = new Set(present)
  return {
    presentCount: present.length,
    missingCount: missing.length,
    missingKeys: missing.slice(0, missingKeysMax),
    presentDigest: factsDigestOf(facts.filter(({ key }) => keys.has(key))),
  }
}

/** What the model would see after one more event: the transcript's own answer, before it is recorded. */
export function messagesAfter(
  session: SessionView,
  event: Pick<SessionEvent, 'type' | 'data'>,
  vocabulary: Sessions['vocabulary'],
): readonly TranscriptMessage[] {
  const next = { ...event, seq: session.log.length, time: 0, replaces: true } as unknown as SessionEvent
  const state = transcript.apply(session.read(transcript), next, {
    beginsFork: () => false, // the event is no boundary
    event: (type) => vocabulary.event(type),
    bracket: (name) => vocabulary.bracket(name),
    brackets: (type) => vocabulary.bracketsOf(type),
  })
  return messagesOf(state)
}
