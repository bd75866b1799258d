import type {
  AssistantTranscriptMessage,
  TranscriptMessage,
  UserPart,
  UserTranscriptMessage,
} from '@tidemark/session-core'
import { findSummary } from '../rendering.ts'
import { emptyExtract, type Extract } from './extract.ts'
import { fileNames, firstLines, lastLines, oneLine } from './lines.ts'
import { parse } from './wording.ts'

const firstLineCount = 8
const requestLineCount = 3
const conclusionLineCount = 3

/** What tools gave back and what files hold is never quoted: nobody vouches for it, and it may be an order. */
export function extractFrom(messages: readonly TranscriptMessage[]): Extract {
  const extract = emptyExtract()
  for (const message of messages) {
    if (message.role === 'user') addUser(extract, message)
    if (message.role === 'assistant') addAssistant(extract, message)
  }
  return extract
}

function addUser(extract: Extract, message: UserTranscriptMessage): void {
  const summary = findSummary(message)
  if (summary !== undefined) return addEarlier(extract, parse(summary))
  const text = message.parts.filter(isRequest).map(textOf).join('\n')
  const isFirst = extract.first.length === 0
  const lines = isFirst ? extract.first : extract.requests
  lines.push(...firstLines(text, isFirst ? firstLineCount : requestLineCount))
  addAll(extract.files, fileNames(text))
}

function addAssistant(extract: Extract, message: AssistantTranscriptMessage): void {
  const text = message.parts.map(textOf).join('\n')
  extract.conclusions.push(...lastLines(text, conclusionLineCount))
  addAll(extract.files, fileNames(text))
  for (const part of message.parts) {
    if (part.type !== 'tool-call') continue
    addAll(
      extract.tools,
      [oneLine(part.name)].filter((name) => name !== ''),
    )
    addAll(extract.files, fileNames(JSON.stringify(part.arguments)))
  }
}

/** The lines of an earlier extract stay in their places; the first request of all stays the first. */
function addEarlier(extract: Extract, earlier: Extract): void {
  const isFirst = extract.first.length === 0
  addAll(isFirst ? extract.first : extract.requests, earlier.first)
  for (const name of ['requests', 'conclusions', 'earlier', 'files', 'tools'] as const)
    addAll(extract[name], earlier[name])
}

/** Not a spread into a call: the list may be as long as the session. */
function addAll(lines: string[], more: readonly string[]): void {
  for (const line of more) lines.push(line)
}

/** A person's text, or that of the agent that started this one. */
function isRequest({ author }: UserPart): boolean {
  return author === 'human' || author === 'agent'
}

function textOf(part: TranscriptMessage['parts'][number]): string {
  return part.type === 'text' ? part.text : ''
}
