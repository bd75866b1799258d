import { compaction, facts } from '@tidemark/compaction'
import {
  boundaryType,
  step,
  toolCall,
  turn,
  type SessionView,
  type TranscriptMessage,
} from '@tidemark/session-core'
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
  const inForce = new Set(view.read(facts).facts.map(({ text }) => text))
  return {
    messageCount: messages.length,
    sizeBytes: sizeBytesOf(messages),
    factsSizeBytes: sizeBytesOf(messages.filter((message) => showsFacts(message, inForce))),
  }
}

function sizeBytesOf(messages: readonly TranscriptMessage[]): number {
  return Buffer.byteLength(JSON.stringify(messages))
}

/** A pin, or the block of all of them: what the host says, and a fact in it. */
function showsFacts({ role, parts }: TranscriptMessage, inForce: ReadonlySet<string>): boolean {
  if (role !== 'user' || parts.some(({ author }) => author !== 'system')) return false
  return parts.some((part) => part.type === 'text' && inForce.has(part.text))
}

/** The facts that stand word for word in no text that the model is given. */
export function missingFacts(view: SessionView, wanted: readonly string[]): readonly string[] {
  const texts = view
    .messages()
    .flatMap(({ parts }) => parts.flatMap((part) => ('text' in part ? [part.text] : [])))
  return wanted.filter((fact) => !texts.some((text) => text.includes(fact)))
}
