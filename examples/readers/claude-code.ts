import type { AssistantPart, Author, FilePart, JsonObject, ToolPart, UserPart } from '@tidemark/session-core'
import { authored, isInterrupt } from './author.ts'
import { isRecord, recordLines, type RecordLine } from './lines.ts'
import { Outline, type At } from './outline.ts'
import { partsOf, placeOf, Repeats, Tally, textOf, type Reading } from './reading.ts'
import { TranscriptRefused } from './refusal.ts'
import type { Source } from './source.ts'

/**
 * Reads a Claude Code transcript in the order of the file: that in which things were written down.
 * @throws TranscriptRefused `damaged`.
 */
export function readClaudeCode(source: Source): Reading {
  const reader = new ClaudeCodeReader(source.file)
  for (const line of recordLines(source)) reader.read(line)
  return reader.finish()
}

class ClaudeCodeReader {
  private readonly outline = new Outline()
  private readonly skipped = new Tally()
  private readonly repeats = new Repeats()
  private recordCount = 0

  constructor(private readonly file: string) {}

  read(line: RecordLine): void {
    this.recordCount++
    const { record, text } = line
    if (this.repeats.isRepeat(record['uuid'], text)) return this.skipped.add('repeated record')
    switch (record['type']) {
      case 'user':
        return this.readUser(line)
      case 'assistant':
        return this.readAssistant(line)
      case 'attachment':
        return this.readAttachment(line)
      default:
        return this.readOther(record)
    }
  }

  finish(): Reading {
    this.skipped.add('result whose call has not come', this.outline.waitingCount)
    const { recordCount, outline, skipped } = this
    return { format: 'claude-code', recordCount, steps: outline.steps, skipped: skipped.counts }
  }

  private readUser(line: RecordLine): void {
    const at = placeOf(line)
    const content = partsOf(this.messageOf(line)['content'])
    const results = content.filter(isResult)
    for (const part of results) {
      const outcome = part['is_error'] === true ? 'error' : 'ok'
      this.outline.result({ callId: textOf(part['tool_use_id']), outcome, parts: resultParts(part) }, at)
    }
    const said = content.filter((part) => !isResult(part))
    // What stands beside a tool's result was put there by the program.
    this.say(said, results.length > 0 ? 'system' : authorOf(line.record), at)
  }

  private say(content: readonly JsonObject[], author: Author, at: At): void {
    const parts = content.flatMap((part) => userParts(part, author))
    if (parts.length === 0) return
    const asks = parts.some((part) => part.author === 'human') || (author === 'agent' && !this.outline.isBusy)
    this.outline.user(parts, at, { asks })
    if (content.some((part) => isInterrupt(textOf(part['text'])))) this.outline.endTurn('interrupted')
  }

  private readAssistant(line: RecordLine): void {
    const at = placeOf(line)
    const message = this.messageOf(line)
    // One message of the API may stand on many lines that share its id.
    const key = textOf(message['id']) || textOf(line.record['uuid']) || `line ${line.line}`
    let said: AssistantPart[] = []
    for (const part of partsOf(message['content'])) {
      if (part['type'] !== 'tool_use') {
        said.push(assistantPart(part))
        continue
      }
      if (said.length > 0) this.outline.assistant(key, said, at)
      said = []
      const call = { callId: textOf(part['id']), name: textOf(part['name']), input: part['input'] ?? {} }
      this.outline.call(key, call, at)
    }
    if (said.length > 0) this.outline.assistant(key, said, at)
  }

  /** A prompt typed while the agent works is stored as an attachment, and nowhere else. */
  private readAttachment(line: RecordLine): void {
    const { attachment, isSidechain = false } = line.record
    if (!isRecord(attachment) || attachment['type'] !== 'queued_command') {
      return this.skipped.add(`attachment ${isRecord(attachment) ? textOf(attachment['type']) : ''}`.trim())
    }
    const typed = attachment['commandMode'] === 'prompt'
    const author = typed ? authorOf({ ...attachment, isSidechain }) : 'system'
    this.say(partsOf(attachment['prompt']), author, placeOf(line))
  }

  private readOther(record: JsonObject): void {
    const { type, subtype, data } = record
    const detail = isRecord(data) ? textOf(data['type']) : textOf(subtype)
    this.skipped.add(`${textOf(type) || 'record without a type'} ${detail}`.trim())
    if (subtype === 'turn_duration' && !this.outline.isBusy) this.outline.endTurn('completed')
  }

  private messageOf({ record, line }: RecordLine): JsonObject {
    const { message, type } = record
    if (isRecord(message)) return message
    throw new TranscriptRefused('damaged', this.file, {
      reason: `a record of type ${textOf(type)} has no message`,
      line,
    })
  }
}

function authorOf(record: JsonObject): Author {
  const { isSidechain, isMeta, isCompactSummary, isVisibleInTranscriptOnly, origin } = record
  if (isMeta === true || isCompactSummary === true || isVisibleInTranscriptOnly === true) return 'system'
  if (isSidechain === true) return 'agent'
  const kind = isRecord(origin) ? textOf(origin['kind']) : 'human'
  return kind === 'human' ? 'human' : 'system'
}

function isResult(part: JsonObject): boolean {
  return part['type'] === 'tool_result'
}

function userParts(part: JsonObject, author: Author): UserPart[] {
  if (part['type'] === 'text') return authored(textOf(part['text']), author)
  const file = filePart(part)
  return [file ? { ...file, author: 'file' } : { type: 'text', text: JSON.stringify(part), author: 'system' }]
}

function assistantPart(part: JsonObject): AssistantPart {
  const signature = typeof part['signature'] === 'string' ? { signature: part['signature'] } : {}
  switch (part['type']) {
    case 'text':
      return { type: 'text', text: textOf(part['text']) }
    case 'thinking':
      return { type: 'reasoning', text: textOf(part['thinking']), ...signature }
    case 'redacted_thinking':
      return { type: 'reasoning', text: '', signature: textOf(part['data']) }
    default:
      return filePart(part) ?? { type: 'text', text: JSON.stringify(part) }
  }
}

function resultParts(result: JsonObject): ToolPart[] {
  return partsOf(result['content']).map((part) => {
    if (part['type'] === 'text') return { type: 'text', text: textOf(part['text']) }
    return filePart(part) ?? { type: 'text', text: JSON.stringify(part) }
  })
}

function filePart(part: JsonObject): FilePart | undefined {
  const { type, source } = part
  if ((type !== 'image' && type !== 'document') || !isRecord(source)) return undefined
  const mediaType =
    textOf(source['media_type']) || (type === 'image' ? 'image/*' : 'application/octet-stream')
  if (typeof source['data'] === 'string') return { type: 'file', mediaType, data: source['data'] }
  const uri = textOf(source['url']) || textOf(source['file_id'])
  return uri === '' ? undefined : { type: 'file', mediaType, uri }
}
