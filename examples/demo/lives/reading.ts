import { compaction } from '@tidemark/compaction'
import { boundaryType, step, toolCall, turn, type SessionView } from '@tidemark/session-core'
import type { BracketNote, Size } from '../protocol.ts'

const brackets = [turn, step, toolCall, compaction]

export function bracketsOf(view: SessionView): readonly BracketNote[] {
  const open = brackets.flatMap((bracket) => view.open(bracket))
  return open.map(({ bracket, seq, status }) => ({ bracket, seq, status }))
}

export function boundarySeqsOf(view: SessionView): readonly number[] {
  return [...view.log].flatMap(({ seq, type }) => (type === boundaryType ? [seq] : []))
}

export function sizeOf(view: SessionView): Size {
  const messages = view.messages()
  return { messageCount: messages.length, sizeBytes: Buffer.byteLength(JSON.stringify(messages)) }
}

/** The facts that stand word for word in no text that the model is given. */
export function missingFacts(view: SessionView, facts: readonly string[]): readonly string[] {
  const texts = view
    .messages()
    .flatMap(({ parts }) => parts.flatMap((part) => ('text' in part ? [part.text] : [])))
  return facts.filter((fact) => !texts.some((text) => text.includes(fact)))
}
