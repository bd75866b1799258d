export type RefusalKind = 'missing' | 'unreadable' | 'too-large' | 'foreign' | 'damaged'

/** Why a file is not read. `line` counts from 1, the lines before it are intact. Shows nothing of them. */
export class TranscriptRefused extends Error {
  readonly kind: RefusalKind
  readonly file: string
  readonly reason: string
  readonly line: number | undefined

  constructor(kind: RefusalKind, file: string, { reason, line }: { reason: string; line?: number }) {
    super(line === undefined ? `${file}: ${reason}` : `${file}: line ${line}: ${reason}; ${intact(line - 1)}`)
    this.name = 'TranscriptRefused'
    this.kind = kind
    this.file = file
    this.reason = reason
    this.line = line
  }
}

function intact(count: number): string {
  if (count === 0) return 'no line before it'
  return count === 1 ? 'the 1 line before it is intact' : `the ${count} lines before it are intact`
}
