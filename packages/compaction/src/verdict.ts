import {
  messagesOf,
  transcript,
  type SessionEvent,
  type SessionView,
  type Sessions,
  type TranscriptMessage,
} from '@tidemark/session-core'
import type { PinnedFact } from './fact.ts'

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
}

/**
 * Looks at the transcript alone: what a summary says that it carries is no proof. A fact that came after the summary
 * is in no block yet; the message that made it one has to stand there.
 */
export function verdictOf(
  facts: readonly PinnedFact[],
  messages: readonly TranscriptMessage[],
  summarySeq = Infinity,
): FactsVerdict {
  const shown = new Set<string>()
  const seqs = new Set<number>()
  for (const message of messages) {
    if (message.role !== 'user') continue
    seqs.add(message.seq)
    for (const part of message.parts) {
      if (part.type === 'text' && part.author === 'system') shown.add(part.text)
    }
  }
  const isShown = ({ text, seq }: PinnedFact): boolean =>
    shown.has(text) || (seq > summarySeq && seqs.has(seq))
  const keysOf = (wanted: boolean): readonly string[] =>
    Object.freeze(facts.filter((fact) => isShown(fact) === wanted).map(({ key }) => key))
  return Object.freeze({ present: keysOf(true), missing: keysOf(false) })
}

export function recorded({ present, missing }: FactsVerdict): RecordedVerdict {
  return {
    presentCount: present.length,
    missingCount: missing.length,
    missingKeys: missing.slice(0, missingKeysMax),
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
