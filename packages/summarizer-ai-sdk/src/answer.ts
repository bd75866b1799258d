import type { TextStreamPart, ToolSet } from 'ai'
import type { RefusalReason } from './refusal.ts'

export type Outcome =
  | { readonly kind: 'answer'; readonly text: string }
  | { readonly kind: 'refused'; readonly reason: RefusalReason; readonly finishReason?: string }
  | {
      readonly kind: 'failed'
      readonly error: unknown
      readonly hasBegun: boolean
      /** Whether the model gave a stream at all. */
      readonly hasStream: boolean
    }

type Part = TextStreamPart<ToolSet>
type FinishReason = Extract<Part, { type: 'finish' }>['finishReason']

/** What has come of an answer. Decides as soon as it can; holds no more than the bound and one part. */
export class Answer {
  private text = ''
  /** Never less than `text` has: half a character that arrives alone counts as a whole one. */
  private sizeBytes = 0
  private hasBegun = false
  private hasStream = false

  constructor(private readonly sizeBytesMax: number) {}

  open(): void {
    this.hasStream = true
  }

  take(part: Part): Outcome | undefined {
    switch (part.type) {
      case 'text-delta':
        return this.add(part.text)
      case 'reasoning-delta':
        this.hasBegun = true
        return undefined
      case 'tool-input-start':
      case 'tool-call':
      case 'tool-error':
      case 'file':
        return { kind: 'refused', reason: 'not-text' }
      case 'error':
        return this.fail(part.error)
      case 'finish':
        return this.finish(part.finishReason)
      default:
        return undefined
    }
  }

  fail(error: unknown): Outcome {
    return { kind: 'failed', error, hasBegun: this.hasBegun, hasStream: this.hasStream }
  }

  /** The stream is over, and the model has not said that it had finished. */
  end(): Outcome {
    return { kind: 'refused', reason: 'broken-off' }
  }

  private add(text: string): Outcome | undefined {
    this.hasBegun = true
    this.text += text
    this.sizeBytes += Buffer.byteLength(text)
    if (this.sizeBytes > this.sizeBytesMax) this.sizeBytes = Buffer.byteLength(this.text)
    return this.sizeBytes > this.sizeBytesMax ? { kind: 'refused', reason: 'too-large' } : undefined
  }

  /** Only `stop` ends a whole answer. A reason that the SDK cannot name may as well be a connection that was lost. */
  private finish(finishReason: FinishReason): Outcome {
    if (finishReason !== 'stop')
      return {
        kind: 'refused',
        reason: reasons[finishReason] ?? 'broken-off',
        finishReason: String(finishReason),
      }
    const text = withoutBlankEnds(this.text)
    return text === '' ? { kind: 'refused', reason: 'empty', finishReason } : { kind: 'answer', text }
  }
}

const reasons: Readonly<Partial<Record<string, RefusalReason>>> = {
  length: 'truncated',
  'content-filter': 'filtered',
  'tool-calls': 'not-text',
}

function withoutBlankEnds(text: string): string {
  const lines = text.split('\n')
  const first = lines.findIndex(isFilled)
  const last = lines.findLastIndex(isFilled)
  if (first === -1) return ''
  const kept = lines.slice(first, last + 1).join('\n')
  // The other half of the line end that went with the blank lines.
  return last < lines.length - 1 && kept.endsWith('\r') ? kept.slice(0, -1) : kept
}

/** Not blanks, controls, or zero-width and other format characters. */
const visible = /[^\s\p{Z}\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]/u

function isFilled(line: string): boolean {
  return visible.test(line)
}
