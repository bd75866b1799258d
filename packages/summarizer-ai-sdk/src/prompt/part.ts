import { isUtf8 } from 'node:buffer'
import type { ToolResultPart, TranscriptMessage, UserPart } from '@tidemark/session-core'
import { cut, type Cut } from './cut.ts'
import { ends } from './ends.ts'
import { quote } from './quote.ts'

type Part = TranscriptMessage['parts'][number] | ToolResultPart['parts'][number]
type FilePart = Extract<Part, { type: 'file' }>
type ToolCallPart = Extract<Part, { type: 'tool-call' }>

/** In UTF-8 bytes as they are rendered. */
export interface PartBounds {
  /** Of the parts of one message. */
  readonly messageSizeBytesMax: number
  /** Of the parts of one tool's result. */
  readonly resultSizeBytesMax: number
  readonly textSizeBytesMax: number
  readonly nameSizeBytesMax: number
}

/** Writes parts as JSON on one line. A string that was cut is an object with `leftOutSizeBytes`. */
export class PartRendering {
  /** Whether nothing was left out so far. */
  isWhole = true

  constructor(private readonly bounds: PartBounds) {}

  messageParts(parts: readonly Part[]): string {
    return this.list(parts, this.bounds.messageSizeBytesMax)
  }

  private list(parts: readonly Part[], sizeBytesMax: number): string {
    const mark = (leftOut: number) => quote({ leftOutParts: leftOut })
    const { items, leftOut } = ends(parts, { sizeBytesMax, mark }, (part) => this.part(part))
    this.isWhole &&= leftOut === 0
    return `[${items.join(',')}]`
  }

  private part(part: Part): string {
    switch (part.type) {
      case 'text':
        return quote({ type: part.type, ...authorOf(part), text: this.text(part.text) })
      case 'reasoning':
        return quote({ type: part.type, text: this.text(part.text) })
      case 'file':
        return quote({ type: part.type, ...authorOf(part), ...this.file(part) })
      case 'tool-call':
        return this.call(part)
      case 'tool-result':
        return this.result(part)
    }
  }

  private call({ type, id, name, arguments: args }: ToolCallPart): string {
    const json = quote(args)
    const fits = Buffer.byteLength(json) <= this.bounds.textSizeBytesMax
    const fields = quote({ type, id: this.name(id), name: this.name(name) })
    return withField(fields, 'arguments', fits ? json : quote(this.text(json)))
  }

  private result({ type, id, name, outcome, parts }: ToolResultPart): string {
    const fields = quote({ type, id: this.name(id), name: this.name(name), outcome })
    return withField(fields, 'parts', this.list(parts, this.bounds.resultSizeBytesMax))
  }

  /** A file is known by its name and its size; only what is text is shown. */
  private file({ mediaType, data, uri, name }: FilePart): object {
    return {
      mediaType: this.name(mediaType),
      ...(name !== undefined && { name: this.name(name) }),
      ...(name === undefined && uri !== undefined && { uri: this.name(withoutContent(uri)) }),
      ...(data !== undefined && this.content(data, mediaType)),
    }
  }

  private content(data: string, mediaType: string): object {
    const sizeBytes = Buffer.byteLength(data, 'base64')
    if (!textType.test(mediaType)) return { sizeBytes }
    const bytes = Buffer.from(data, 'base64')
    return { sizeBytes, ...(isUtf8(bytes) && { text: this.text(bytes.toString()) }) }
  }

  private text(text: string): string | Cut {
    return this.shortened(text, this.bounds.textSizeBytesMax)
  }

  private name(text: string): string | Cut {
    return this.shortened(text, this.bounds.nameSizeBytesMax)
  }

  private shortened(text: string, sizeBytesMax: number): string | Cut {
    const shown = cut(text, sizeBytesMax)
    this.isWhole &&= typeof shown === 'string'
    return shown
  }
}

/** A JSON object with one field more, whose value is JSON already. */
export function withField(fields: string, name: string, json: string): string {
  return `${fields.slice(0, -1)},"${name}":${json}}`
}

function authorOf(part: Part): { author?: UserPart['author'] } {
  return 'author' in part ? { author: part.author } : {}
}

const textType = /^(?:text\/|application\/(?:[\w.-]+\+)?(?:json|xml|yaml|toml|javascript)(?:;|$))/i

/** A query may hold a key to the file, and a `data:` address is the file. */
function withoutContent(uri: string): string {
  return /^data:/i.test(uri) ? 'data:' : uri.replace(/[?#].*$/s, '')
}
