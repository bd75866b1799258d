import type { AnySessionEvent } from '@tidemark/session-core'
import { chainDigest } from '../digest.ts'
import { parseJson } from '../json-text.ts'
import type { Tail } from '../storage.ts'
import { commitSizeBytesMax, parseCommit, type Commit } from './commit.ts'
import type { SegmentHeader } from './header.ts'
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

interface Line {
  /** With its line end. */
  readonly bytes: Buffer
  readonly offset: number
}

/**
 * Reads the batches of one segment from its bytes, however they are cut. Splits on LF only.
 *
 * 1. A batch is given out once its commit has proven itself and the batch.
 * 2. After a damage nothing more is given out.
 * 3. It holds at most one batch in memory.
 */
export class SegmentScan {
  private rest: Buffer[] = []
  private batch: Line[] = []
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
    for (let lf = bytes.indexOf(10); lf !== -1; lf = bytes.indexOf(10, from)) {
      const line = this.finish(bytes.subarray(from, lf + 1))
      from = lf + 1
      const found = this.take(line)
      if (found) yield found
      if (found?.kind === 'damage') return
    }
    this.rest.push(bytes.subarray(from))
    this.pushed += bytes.length - from
    if (this.pushed - this.position.offset > batchSizeBytesMax)
      yield this.damage('is larger than any batch', this.lineOffset)
  }

  private finish(end: Buffer): Line {
    const bytes = this.rest.length === 0 ? end : Buffer.concat([...this.rest, end])
    const offset = this.lineOffset
    this.rest = []
    this.pushed += end.length
    this.lineOffset = this.pushed
    return { bytes, offset }
  }

  private take(line: Line): ScannedBatch | Damage | undefined {
    if (line.bytes.includes(0)) return this.damage('holds NUL bytes', line.offset)
    if (startsWith(line.bytes, '{"commit":')) return this.commit(line)
    const seq = this.position.tail.seq + 1 + this.batch.length
    if (!startsWith(line.bytes, `{"seq":${seq},`))
      return this.damage(`is not the event of seq ${seq}`, line.offset)
    this.batch.push(line)
    return undefined
  }

  private commit(line: Line): ScannedBatch | Damage {
    const { tail } = this.position
    const commit =
      line.bytes.length <= commitSizeBytesMax ? parseCommit(text(line), this.header.salt) : undefined
    if (commit === undefined) return this.damage('is a commit whose sum is wrong', line.offset)
    const isNext = commit.from === tail.seq + 1 && commit.to === tail.seq + this.batch.length
    // Only what a session is born with is durable before anybody can see it.
    const isBorn = this.header.predecessor === undefined && commit.durable === commit.to
    if (!isNext || commit.epoch !== this.header.epoch || (commit.durable >= commit.from && !isBorn)) {
      return this.damage(
        `commits seq ${commit.from} to ${commit.to} of epoch ${commit.epoch}, out of place`,
        line.offset,
      )
    }
    const events = this.batch.map((each) => parseJson(text(each)))
    const bad = events.findIndex((event, index) => !isEventOf(event, commit.from + index))
    if (bad !== -1) return this.damage('is no event', this.batch[bad]?.offset ?? line.offset)
    const digest = chainDigest(
      tail.digest,
      this.batch.map(({ bytes }) => bytes),
    )
    if (digest !== commit.digest)
      return this.damage('starts a batch that is not what was committed', this.position.offset)
    return this.give(commit, events as AnySessionEvent[])
  }

  private give(commit: Commit, events: readonly AnySessionEvent[]): ScannedBatch {
    const start = this.position
    const lines = start.lines + this.batch.length + 1
    this.position = { offset: this.pushed, lines, tail: { seq: commit.to, digest: commit.digest } }
    this.batch = []
    return { kind: 'batch', commit, events, start, end: this.position }
  }

  private damage(reason: string, offset: number): Damage {
    const line = this.position.lines + 1 + this.batch.filter((each) => each.offset < offset).length
    return { kind: 'damage', reason, offset, line }
  }
}

function startsWith(bytes: Buffer, start: string): boolean {
  return bytes.subarray(0, start.length).toString('latin1') === start
}

function text({ bytes }: Line): string {
  return bytes.subarray(0, -1).toString()
}

function isEventOf(value: unknown, seq: number): boolean {
  return typeof value === 'object' && value !== null && 'seq' in value && value.seq === seq
}
