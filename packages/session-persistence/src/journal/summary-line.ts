import type { SessionHeader } from '@tidemark/session-core'
import { z } from 'zod'
import { activeAtOf, summaryOf, type Placed, type SessionSummary } from '../summary.ts'
import { idIn } from './folder-name.ts'
import type { Imprint } from './imprint.ts'
import { openLine, sealLine } from './sealed-line.ts'

/** What the index holds of one session. */
export interface SummaryLine extends Imprint {
  /** The session's folder, by its name. */
  readonly folder: string
  /** Of the segment that the log ended in. */
  readonly epoch: number
  /** Of the log up to its end. */
  readonly digest: string
  readonly lastSeq: number
  readonly lastTime: number
  readonly lastHumanTime?: number
  readonly header: SessionHeader
}

/** A line that takes more is not kept: its header holds what the host put there. */
const lineSizeBytesMax = 4_096

/** A line that proves itself; `undefined` where it would be too long. */
export function lineText(line: SummaryLine): string | undefined {
  const { folder, epoch, segment, sizeBytes, sum, digest, header, lastSeq, lastTime, lastHumanTime } = line
  const end = { segment, sizeBytes, sum, digest }
  const fields = { folder, epoch, end, lastSeq, lastTime, lastHumanTime, header }
  const { text } = sealLine('session', fields)
  return Buffer.byteLength(text) > lineSizeBytesMax ? undefined : text
}

/** `undefined` where it does not prove itself, or is of another make. */
function parseLine(text: string): SummaryLine | undefined {
  const parsed = schema.safeParse(openLine('session', text)?.fields)
  if (!parsed.success) return undefined
  const { end, lastHumanTime, header, ...line } = parsed.data
  const human = lastHumanTime !== undefined && { lastHumanTime }
  return { ...line, ...end, ...human, header: header }
}

export function summaryOfLine({ header, lastSeq, lastTime, lastHumanTime }: SummaryLine): SessionSummary {
  return summaryOf(header, { lastSeq, lastTime, ...(lastHumanTime !== undefined && { lastHumanTime }) })
}

/** Where a line's text stands. */
interface LineSpan {
  readonly bytes: Buffer
  readonly from: number
  readonly to: number
}

/** A line that is read when it is asked for: most of a list is never shown. */
export class LateLine implements Placed {
  private parsed: SummaryLine | undefined

  constructor(
    readonly folder: string,
    readonly activeAt: number,
    private readonly span: LineSpan,
  ) {}

  get id(): string {
    return idIn(this.folder) ?? this.line?.header.id ?? this.folder
  }

  get sizeBytes(): number {
    return this.span.to - this.span.from
  }

  get text(): string {
    const { bytes, from, to } = this.span
    return bytes.toString('utf8', from, to)
  }

  /** `undefined` where it does not prove itself, and so says nothing. */
  get line(): SummaryLine | undefined {
    this.parsed ??= parseLine(this.text)
    return this.parsed
  }
}

/** A line that was read already; `undefined` where it does not prove itself. */
export function lateLine(text: string): LateLine | undefined {
  const line = parseLine(text)
  if (line === undefined) return undefined
  const bytes = Buffer.from(text)
  return new LateLine(line.folder, activeAtOf(line.header, line), { bytes, from: 0, to: bytes.length })
}

const schema = z.object({
  folder: z.string(),
  epoch: z.int(),
  end: z.object({ segment: z.string(), sizeBytes: z.int(), sum: z.string(), digest: z.string() }),
  lastSeq: z.int(),
  lastTime: z.number(),
  lastHumanTime: z.number().optional(),
  header: z.looseObject({ id: z.string(), createdAt: z.number() }),
})
