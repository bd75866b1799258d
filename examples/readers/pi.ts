import type {
  AssistantPart,
  Author,
  FilePart,
  JsonObject,
  ToolPart,
  TurnEndReason,
  UserPart,
} from '@tidemark/session-core'
import { authored } from './author.ts'
import { isRecord, recordLines, type RecordLine } from './lines.ts'
import { Outline, type At } from './outline.ts'
import { partsOf, placeOf, Repeats, Tally, textOf, type Reading } from './reading.ts'
import { TranscriptRefused } from './refusal.ts'
import type { Source } from './source.ts'

/** Version 1 has no ids; 2 added a tree of them; 3 renamed a role. */
const versions: readonly unknown[] = [1, 2, 3]

const turnEnds: Readonly<Record<string, TurnEndReason>> = {
  stop: 'completed',
  length: 'limit',
  aborted: 'interrupted',
  error: 'failed',
}

/**
 * Reads a pi session in the order of the file.
 * @throws TranscriptRefused `damaged`; `foreign` for a version that did not exist when this was written.
 */
export function readPi(source: Source): Reading {
  const reader = new PiReader(source.file)
  for (const line of recordLines(source)) reader.read(line)
  return reader.finish()
}

class PiReader {
  private readonly outline = new Outline()
  private readonly skipped = new Tally()
  private readonly repeats = new Repeats()
  private recordCount = 0

  constructor(private readonly file: string) {}

  read(line: RecordLine): void {
    const isFirst = this.recordCount++ === 0
    if (isFirst) return this.readHeader(line)
    const { record, text } = line
    const { type, id, summary, content } = record
    if (this.repeats.isRepeat(id, text)) return this.skipped.add('repeated record')
    switch (type) {
      case 'message':
        return this.readMessage(line)
      case 'compaction':
      case 'branch_summary':
        return this.say([{ type: 'text', text: textOf(summary) }], 'system', placeOf(line))
      case 'custom_message':
        return this.say(partsOf(content), 'system', placeOf(line))
      default:
        return this.skipped.add(textOf(type) || 'record without a type')
    }
  }

  finish(): Reading {
    this.skipped.add('result whose call has not come', this.outline.waitingCount)
    const { recordCount, outline, skipped } = this
    return { format: 'pi', recordCount, steps: outline.steps, skipped: skipped.counts }
  }

  private readHeader({ record, line }: RecordLine): void {
    const { type, version = 1 } = record
    if (type !== 'session') this.refuse('the first record is no session header', line)
    if (!versions.includes(version)) {
      const reason = `a pi session of version ${JSON.stringify(version)}; versions 1 to 3 are read`
      throw new TranscriptRefused('foreign', this.file, { reason })
    }
    this.skipped.add('session')
  }

  private readMessage(line: RecordLine): void {
    const { message } = line.record
    if (!isRecord(message)) return this.refuse('a record of type message has no message', line.line)
    const at = placeOf(line)
    switch (message['role']) {
      case 'user':
        return this.say(partsOf(message['content']), 'human', at)
      case 'assistant':
        return this.readAssistant(message, at)
      case 'toolResult':
        return this.readResult(message, at)
      case 'bashExecution':
        return this.readBash(message, at)
      case 'custom':
      case 'hookMessage':
        return this.say(partsOf(message['content']), 'system', at)
      case 'branchSummary':
      case 'compactionSummary':
        return this.say([{ type: 'text', text: textOf(message['summary']) }], 'system', at)
      default:
        return this.skipped.add(`message ${textOf(message['role'])}`.trim())
    }
  }

  private say(content: readonly JsonObject[], author: Author, at: At): void {
    const parts = content.flatMap((part) => userParts(part, author))
    if (parts.length > 0)
      this.outline.user(parts, at, { asks: parts.some((part) => part.author === 'human') })
  }

  private readAssistant(message: JsonObject, at: At): void {
    const key = `line ${at.line}`
    let said: AssistantPart[] = []
    for (const part of partsOf(message['content'])) {
      if (part['type'] !== 'toolCall') said.push(assistantPart(part))
      // A call that was cut while it streamed never ran.
      else if ('partialJson' in part && message['stopReason'] !== 'toolUse')
        this.skipped.add('half-streamed call')
      else {
        this.outline.assistant(key, said, at)
        said = []
        const call = {
          callId: textOf(part['id']),
          name: textOf(part['name']),
          input: part['arguments'] ?? {},
        }
        this.outline.call(key, call, at)
      }
    }
    this.outline.assistant(key, said, at)
    const reason = turnEnds[textOf(message['stopReason'])]
    if (reason !== undefined) this.outline.endTurn(reason)
  }

  private readResult(message: JsonObject, at: At): void {
    const outcome = message['isError'] === true ? 'error' : 'ok'
    const parts = partsOf(message['content']).map(toolPart)
    this.outline.result({ callId: textOf(message['toolCallId']), outcome, parts }, at)
  }

  /** A command that the person ran: its output is a program's text, not the person's. */
  private readBash(message: JsonObject, at: At): void {
    if (message['excludeFromContext'] === true) return this.skipped.add('message bashExecution')
    const text = `$ ${textOf(message['command'])}\n${textOf(message['output'])}`
    this.outline.user([{ type: 'text', text, author: 'tool' }], at, { asks: false })
  }

  private refuse(reason: string, line: number): never {
    throw new TranscriptRefused('damaged', this.file, { reason, line })
  }
}

function userParts(part: JsonObject, author: Author): UserPart[] {
  if (part['type'] === 'text') return authored(textOf(part['text']), author)
  const file = filePart(part)
  return [file ? { ...file, author: 'file' } : { type: 'text', text: JSON.stringify(part), author: 'system' }]
}

function assistantPart(part: JsonObject): AssistantPart {
  if (part['type'] !== 'thinking') return toolPart(part)
  const signature = part['thinkingSignature']
  return {
    type: 'reasoning',
    text: textOf(part['thinking']),
    ...(typeof signature === 'string' && { signature }),
  }
}

function toolPart(part: JsonObject): ToolPart {
  if (part['type'] === 'text') return { type: 'text', text: textOf(part['text']) }
  return filePart(part) ?? { type: 'text', text: JSON.stringify(part) }
}

function filePart({ type, mimeType, data }: JsonObject): FilePart | undefined {
  if (type !== 'image' || typeof data !== 'string') return undefined
  return { type: 'file', mediaType: textOf(mimeType) || 'image/*', data }
}
