import type { AnySessionEvent } from '@tidemark/session-core'
import { chainDigest } from '../digest.ts'
import type { SalvagedRecord } from '../storage.ts'
import { parseCommit, type Commit } from './commit.ts'
import { linesWithin } from './found-lines.ts'
import type { Part } from './parts.ts'
import { longestRising } from './rising.ts'
import {
  eventsIn,
  isExplained,
  lineOf,
  renumbered,
  withoutMisplaced,
  type SalvageLine,
} from './salvage-line.ts'
import { batchSizeBytesMax } from './size.ts'

/** Bytes of lines that wait for a commit that proves them. */
const waitingSizeBytesMax = 4 * batchSizeBytesMax

/** Digests that a log may have had at one place. */
const standingsMax = 4

/** No event takes fewer bytes, in a run either. */
const eventSizeBytesMin = 5

/** A digest that the log may have had before the lines that come. Of what waits, the batches on from `from` lead to it. */
interface Standing {
  readonly digest: string
  readonly from: number
}

/**
 * Tells in a damaged segment which events prove themselves, and which of the others have a place.
 *
 * 1. Proven are the events of lines that make the digest of a commit that proves itself, from one that is known.
 * 2. Any other event is given where its seq lies between those of its neighbours, and not otherwise.
 * 3. Seqs rise.
 */
export class SalvageScan {
  private lines: SalvageLine[] = []
  /** Batches whose own commits prove nothing. */
  private waiting: (readonly SalvageLine[])[] = []
  private sizeBytes = 0
  private standings: readonly Standing[]
  /** What is up to here was given out, or is lost. */
  private through: number
  private missedMax = 0
  /** The same before the lines that came since the last commit. */
  private missedBefore = 0

  /** `lastSeq`: the last one that earlier segments gave. */
  constructor(
    private readonly part: Part,
    lastSeq: number,
  ) {
    const { header, sum } = part.found ?? {}
    this.through = header ? header.firstSeq - 1 : lastSeq
    const digest = header?.predecessor?.digest ?? sum
    this.standings = digest === undefined ? [] : [{ digest, from: 0 }]
  }

  *take(line: Buffer): Generator<SalvagedRecord, void> {
    for (const { bytes, value } of linesWithin(line)) {
      const text = bytes.subarray(0, -1).toString()
      const events = eventsIn(value)
      if (events) this.keep(bytes, events)
      else if (/^\{"commit":|"sum":"[^"]*"\}\}$/.test(text)) yield* this.commit(text)
      else this.missedMax += bytes.length / eventSizeBytesMin
    }
    if (this.sizeBytes > waitingSizeBytesMax) yield* this.finish()
  }

  *finish(): Generator<SalvagedRecord, void> {
    yield* this.giveUnproven([...this.waiting.flat(), ...this.lines], this.part.before)
    this.settle(this.through, [])
  }

  private keep(bytes: Buffer, events: readonly AnySessionEvent[]): void {
    this.lines.push(lineOf(bytes, events, this.missedMax))
    this.sizeBytes += bytes.length
  }

  private *commit(text: string): Generator<SalvagedRecord, void> {
    const commit = this.part.found && parseCommit(text, this.part.found.header.salt)
    if (commit === undefined) return this.wait(text)
    const proof = this.proofOf(commit)
    if (proof) {
      const { lines, from } = proof
      const proven = [...this.waiting.slice(from).flat(), ...lines]
      yield* this.giveUnproven(this.waiting.slice(0, from).flat(), proven[0]?.first ?? commit.from)
      for (const { events } of proven) yield* this.give(events, true)
    } else if (commit.to <= this.through) {
      this.lines = [] // a batch that stands here once more
      return
    } else yield* this.giveBatch(commit)
    this.settle(commit.to, [{ digest: commit.digest, from: 0 }])
  }

  /** The next commit that proves itself may prove this batch as well. */
  private wait(text: string): void {
    const lines = this.lines.map(({ bytes }) => bytes)
    this.waiting.push(this.lines)
    this.lines = []
    this.missedBefore = this.missedMax
    const read = this.standings.map(({ digest, from }) => ({ digest: chainDigest(digest, lines), from }))
    const said = /"digest":"([0-9a-f]{64})"/.exec(text)?.[1]
    const told = this.part.found && said !== undefined ? [{ digest: said, from: this.waiting.length }] : []
    this.standings = [...read, ...told].slice(-standingsMax)
  }

  /** The lines as they can be read, or with the seqs that their places give them. */
  private proofOf(commit: Commit): { lines: readonly SalvageLine[]; from: number } | undefined {
    for (const lines of [this.lines, renumbered(this.lines, commit) ?? []]) {
      const bytes = lines.map((line) => line.bytes)
      const standing = this.standings.find(({ digest }) => chainDigest(digest, bytes) === commit.digest)
      if (standing) return { lines, from: standing.from }
    }
    return undefined
  }

  private *giveBatch(commit: Commit): Generator<SalvagedRecord, void> {
    const waiting = this.waiting.flat()
    const isWhole = this.missedMax === this.missedBefore
    const lines = isWhole ? withoutMisplaced(this.lines, commit) : this.lines
    yield* this.giveUnproven([...waiting, ...lines], commit.to + 1)
  }

  /** Of lines that nothing proves: those whose seqs are in order, below `before`. */
  private *giveUnproven(lines: readonly SalvageLine[], before: number): Generator<SalvagedRecord, void> {
    const { through } = this
    const chosen = longestRising(lines.filter(({ first }) => first > through && first < before))
    const [end] = chosen.slice(-1)
    for (const line of chosen) {
      const terms = { before: chosen.at(-2), through, lines }
      if (line === end && before === Infinity && !isExplained(line, terms)) break
      yield* this.give(line.events, false)
      this.through = line.last
    }
  }

  private *give(events: readonly AnySessionEvent[], isProven: boolean): Generator<SalvagedRecord, void> {
    for (const event of events) if (event.seq < this.part.before) yield { event, isProven }
  }

  private settle(through: number, standings: readonly Standing[]): void {
    this.through = through
    this.standings = standings
    this.lines = []
    this.waiting = []
    this.sizeBytes = 0
    this.missedMax = 0
    this.missedBefore = 0
  }
}
