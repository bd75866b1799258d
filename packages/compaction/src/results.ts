import { transcript, type SessionView, type ToolPart, type UserPart } from '@tidemark/session-core'
import { sizeBytesOf } from './size.ts'

/** The result of a tool as the transcript shows it. */
export interface ShownResult {
  readonly resultSeq: number
  readonly sizeBytes: number
}

/** Those that stand in the transcript, late ones too, in the order of the log. */
export function resultsShown(session: SessionView): readonly ShownResult[] {
  const { entries } = session.read(transcript)
  const found: ShownResult[] = []
  for (const entry of [...entries.chunks.flat(), ...entries.tail]) {
    if (entry.kind === 'message') {
      if (!entry.isLate) continue
      const parts = entry.messages.flatMap((message): readonly (ToolPart | UserPart)[] =>
        message.role === 'user' ? message.parts.slice(1) : [],
      )
      found.push({ resultSeq: entry.seq, sizeBytes: partsSizeBytes(parts) })
      continue
    }
    for (const { outcome, through, parts } of entry.calls) {
      if (outcome !== 'ok' && outcome !== 'error') continue
      found.push({ resultSeq: through, sizeBytes: partsSizeBytes(parts) })
    }
  }
  return found.sort((one, other) => one.resultSeq - other.resultSeq)
}

/** Of what they hold by value or by name. */
export function partsSizeBytes(parts: readonly (ToolPart | UserPart)[]): number {
  return parts.reduce((sum, part) => sum + partSizeBytes(part), 0)
}

function partSizeBytes(part: ToolPart | UserPart): number {
  if (part.type === 'text') return sizeBytesOf(part.text)
  return sizeBytesOf(`${part.mediaType}${part.name ?? ''}${part.uri ?? ''}`) + (part.data?.length ?? 0)
}
