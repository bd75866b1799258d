import type { AnySessionEvent } from '@tidemark/session-core'
import { chainDigest } from '../digest.ts'
import { parseJson } from '../json-text.ts'
import type { Tail } from '../storage.ts'
import { commitSizeBytesMax, parseCommit, type Commit } from './commit.ts'
import type { SegmentHeader } from './header.ts'
import { unpackLine } from './runs.ts'
import { batchSizeBytesMax } from './size.ts'

/** A place between two batches of a segment, and where the log stands there. */
export interface Position {
  /** Bytes from the start of the segment. */
  readonly offset: number
  /** Lines before it. */
  readonly lines: number
  readonly tail: Tail
}

export interface ScannedBatch {
  readonly kind: 'batch'
  readonly commit: Commit
  readonly events: readonly AnySessionEvent[]
  readonly start: Position
  readonly end: Position
}

/** Bytes that cannot stand where they stand. */
export interface Damage {
  readonly kind: 'damage'
  readonly reason: string
  readonly offset: number
  /** Counted from 1. */
  readonly line: number
}

/**
 * Reads the batches of one segment from its bytes, however they are cut. Splits on LF only.
 *
 * 1. A batch is given out once its commit has proven itself and the batch.
 * 2. After a damage nothing more is given out.
 * 3. It holds at most one batch in memory.
 */
export class SegmentScan {
  /** Pieces of the line whose end has not come yet. */
  private rest: Buffer[] = []
  /** The event lines of the batch, in the pieces in which they came: they are hashed as they are. */
  private lines: Buffer[] = []
  private lineCount = 0
  private events: AnySessionEvent[] = []
  /** Bytes that were pushed. */
  private pushed: number
  /** Where the unfinished line starts. */
  private lineOffset: number

  constructor(
    private readonly header: SegmentHeader,
    private position: Position,
  ) {
    this.pushed = position.offset
    this.lineOffset = position.offset
  }

  /** The end of the last batch that was given out. */
  get end(): Position {
    return this.position
  }

  /** Whether nothing follows that end. */
  get isClean(): boolean {
    return this.pushed === this.position.offset
  }

  *push(bytes: Buffer): Generator<ScannedBatch | Damage, void> {
    let from = 0
    let linesFrom = 0
    for (let lf = bytes.indexOf(10); lf !== -1; lf = bytes.indexOf(10, from)) {
      const line = this.textOf(bytes, from, lf)
      this.pushed += lf + 1 - from
      const isCommit = line.startsWith('{"commit":')
      if (isCommit) this.keep(bytes, linesFrom, from)
      else this.lines.push(...this.rest)
      const found = isCommit ? this.commit(line) : this.event(line)
      this.rest = []
      from = lf + 1
      this.lineOffset = this.pushed
      if (isCommit) linesFrom = from
      if (found) yield found
      if (found?.kind === 'damage') return
    }
    this.keep(bytes, linesFrom, from)
    if (from < bytes.length) this.rest.push(bytes.subarray(from))
    this.pushed += bytes.length - from
    if (this.pushed - this.position.offset > batchSizeBytesMax) yield this.damage('is larger than any batch')
  }

  private keep(bytes: Buffer, from: number, to: number): void {
    if (from < to) this.lines.push(bytes.subarray(from, to))
  }

  private textOf(bytes: Buffer, from: number, to: number): string {
    if (this.rest.length === 0) return bytes.toString('utf8', from, to)
    return Buffer.concat([...this.rest, bytes.subarray(from, to)]).toString()
  }

  /** Checks the line that just ended. Its seqs start right after those before it. */
  private event(line: string): Damage | undefined {
    const seq = this.position.tail.seq + 1 + this.events.length
    if (!line.startsWith(`{"seq":${seq},`))
      return this.damage(reasonOf(line, `is not the event of seq ${seq}`))
    const events = unpackLine(parseJson(line))
    if (events?.[0]?.seq !== seq) return this.damage(reasonOf(line, 'is no event'))
    this.events.push(...events)
    this.lineCount += 1
    return undefined
  }

  private commit(line: string): ScannedBatch | Damage {
    const { tail } = this.position
    const isShort = this.pushed - this.lineOffset <= commitSizeBytesMax
    const commit = isShort ? parseCommit(line, this.header.salt) : undefined
    if (commit === undefined) return this.damage(reasonOf(line, 'is a commit whose sum is wrong'))
    const { from, to, epoch } = commit
    const isNext = from === tail.seq + 1 && to === tail.seq + this.events.length
    // Only what a session is born with is durable before anybody can see it.
    const isBorn = this.header.predecessor === undefined && commit.durable === to
    if (!isNext || epoch !== this.header.epoch || (commit.durable >= from && !isBorn))
      return this.damage(`commits seq ${from} to ${to} of epoch ${epoch}, out of place`)
    if (chainDigest(tail.digest, this.lines) !== commit.digest) {
      const { offset, lines } = this.position
      const reason = 'starts a batch that is not what was committed'
      return { kind: 'damage', reason, offset, line: lines + 1 }
    }
    return this.give(commit)
  }

  private give(commit: Commit): ScannedBatch {
    const { events, lineCount, position: start } = this
    const lines = start.lines + lineCount + 1
    this.position = { offset: this.pushed, lines, tail: { seq: commit.to, digest: commit.digest } }
    this.lines = []
    this.lineCount = 0
    this.events = []
    return { kind: 'batch', commit, events, start, end: this.position }
  }

  /** Of the line that ends here, or has not ended. */
  private damage(reason: string): Damage {
    const line = this.position.lines + 1 + this.lineCount
    return { kind: 'damage', reason, offset: this.lineOffset, line }
  }
}

/** A hole says more than what it makes of a line. */
function reasonOf(line: string, otherwise: string): string {
  return line.includes('\0') ? 'holds NUL bytes' : otherwise
}
