import type { Author, FilePart, JsonObject, ToolPart, UserPart } from '@tidemark/session-core'
import { authored } from './author.ts'
import { isRecord, recordLines, type RecordLine } from './lines.ts'
import { Outline, type At } from './outline.ts'
import { partsOf, placeOf, Tally, textOf, type Reading } from './reading.ts'
import { TranscriptRefused } from './refusal.ts'
import type { Source } from './source.ts'

/**
 * Reads a Codex rollout in the order of the file. Each turn is told twice: what the model was given and gave is read, and
 * of what the screen showed only what says whose words a message is.
 * @throws TranscriptRefused `damaged`.
 */
export function readCodex(source: Source): Reading {
  const reader = new CodexReader(source.file)
  for (const line of recordLines(source)) reader.read(line)
  return reader.finish()
}

/** A message in the user's seat, as long as nothing says whether a person typed it. */
interface Unsigned {
  readonly content: readonly JsonObject[]
  readonly at: At
}

class CodexReader {
  private readonly outline = new Outline()
  private readonly skipped = new Tally()
  private recordCount = 0
  private stepCount = 0
  private unsigned: Unsigned | undefined

  constructor(private readonly file: string) {}

  read(line: RecordLine): void {
    this.recordCount++
    const { payload, type } = line.record
    if (!isRecord(payload)) {
      const reason = `a record of type ${textOf(type)} has no payload`
      throw new TranscriptRefused('damaged', this.file, { reason, line: line.line })
    }
    if (type === 'event_msg' && payload['type'] === 'user_message') return this.sign(payload)
    this.sign()
    if (type === 'response_item') return this.readItem(payload, placeOf(line))
    if (type === 'event_msg') return this.readEvent(payload)
    if (type === 'compacted') this.readCompacted(payload, placeOf(line))
    else this.skipped.add(textOf(type) || 'record without a type')
  }

  finish(): Reading {
    this.skipped.add('message whose author has not been told', this.unsigned ? 1 : 0)
    this.skipped.add('result whose call has not come', this.outline.waitingCount)
    const { recordCount, outline, skipped } = this
    return { format: 'codex', recordCount, steps: outline.steps, skipped: skipped.counts }
  }

  /** The screen shows what a person typed right after the model got it; what it does not show, the program wrote. */
  private sign(shown?: JsonObject): void {
    const { unsigned } = this
    this.unsigned = undefined
    if (shown !== undefined) this.skipped.add('event_msg user_message')
    if (unsigned === undefined) return
    const { content, at } = unsigned
    const isTyped = shown !== undefined && content.some(({ text }) => text === shown['message'])
    this.say(content, isTyped ? 'human' : 'system', at)
  }

  private readItem(item: JsonObject, at: At): void {
    switch (item['type']) {
      case 'message':
        return this.readMessage(item, at)
      case 'reasoning':
        return this.readReasoning(item, at)
      case 'function_call':
      case 'custom_tool_call':
      case 'tool_search_call':
      case 'local_shell_call':
        return this.readCall(item, at)
      case 'function_call_output':
      case 'custom_tool_call_output':
        return this.readResult(item, partsOfOutput(item['output']), at)
      case 'tool_search_output':
        return this.readResult(item, [{ type: 'text', text: JSON.stringify(item['tools'] ?? null) }], at)
      default:
        return this.skipped.add(`response_item ${textOf(item['type'])}`.trim())
    }
  }

  private readMessage(item: JsonObject, at: At): void {
    const content = partsOf(item['content'])
    if (item['role'] === 'user') this.unsigned = { content, at }
    else if (item['role'] === 'assistant') {
      const parts = content.map((part) => toolPart(part))
      this.outline.assistant(this.stepKey(), parts, at)
    } else this.say(content, 'system', at)
  }

  /** Mostly sealed: what was thought is not in the file. */
  private readReasoning(item: JsonObject, at: At): void {
    const text = partsOf(item['summary']).map((part) => textOf(part['text']))
    if (text.length === 0) return this.skipped.add('response_item reasoning')
    this.outline.assistant(this.stepKey(), [{ type: 'reasoning', text: text.join('\n') }], at)
  }

  private readCall(item: JsonObject, at: At): void {
    const { type, call_id: callId, name, input, arguments: given, action } = item
    const call = {
      callId: textOf(callId),
      name: textOf(name) || textOf(type),
      input: parsed(given ?? input ?? action),
    }
    this.outline.call(this.stepKey(), call, at)
  }

  private readResult(item: JsonObject, parts: readonly ToolPart[], at: At): void {
    this.outline.result({ callId: textOf(item['call_id']), outcome: 'ok', parts }, at)
    if (!this.outline.isBusy) this.stepCount++
  }

  private readEvent(event: JsonObject): void {
    this.skipped.add(`event_msg ${textOf(event['type'])}`.trim())
    if (event['type'] === 'task_complete') this.outline.endTurn('completed')
    if (event['type'] === 'turn_aborted') this.outline.endTurn('interrupted')
  }

  /** What the model is shown from here on repeats what the file has told, but for a summary. */
  private readCompacted({ message }: JsonObject, at: At): void {
    if (textOf(message) === '') return this.skipped.add('compacted')
    this.say([{ type: 'text', text: textOf(message) }], 'system', at)
  }

  private say(content: readonly JsonObject[], author: Author, at: At): void {
    const parts = content.flatMap((part) => userParts(part, author))
    if (parts.length === 0) return
    this.outline.user(parts, at, { asks: parts.some((part) => part.author === 'human') })
  }

  /** The items of one answer have nothing in common; it is over with the results of its calls. */
  private stepKey(): string {
    return `step ${this.stepCount}`
  }
}

/** Arguments are JSON in a text; what is none is kept as it is. */
function parsed(given: unknown): unknown {
  if (typeof given !== 'string') return given ?? {}
  try {
    return JSON.parse(given)
  } catch (error) {
    if (error instanceof SyntaxError) return given
    throw error
  }
}

function partsOfOutput(output: JsonObject[string] | undefined): ToolPart[] {
  if (isRecord(output)) return [{ type: 'text', text: textOf(output['content']) || JSON.stringify(output) }]
  return partsOf(output).map(toolPart)
}

function userParts(part: JsonObject, author: Author): UserPart[] {
  if (part['type'] === 'input_text' || part['type'] === 'text') return authored(textOf(part['text']), author)
  const file = filePart(part)
  return [file ? { ...file, author: 'file' } : { type: 'text', text: JSON.stringify(part), author: 'system' }]
}

function toolPart(part: JsonObject): ToolPart {
  if (typeof part['text'] === 'string') return { type: 'text', text: part['text'] }
  return filePart(part) ?? { type: 'text', text: JSON.stringify(part) }
}

/** Pictures stand in the file as addresses that hold them. */
function filePart({ type, image_url: url }: JsonObject): FilePart | undefined {
  if (type !== 'input_image' || typeof url !== 'string') return undefined
  const [, mediaType = 'image/*', data] = /^data:([^;,]+);base64,(.*)$/s.exec(url) ?? []
  return data === undefined ? { type: 'file', mediaType, uri: url } : { type: 'file', mediaType, data }
}
