import type { FactProblem, FactsState, PinnedFact } from './fact.ts'
import { sizeBytesOf } from './size.ts'

/**
 * Hard bounds of the projection, and the highest that a host can set for itself: with these, what people label beyond
 * them is reported, and never in the way of a compaction.
 */
export const factCountHardMax = 1_000
export const factsSizeBytesHardMax = 1_048_576

export const problemCountMax = 32
const problemLineLengthMax = 200

export const noFacts: FactsState = Object.freeze({
  facts: Object.freeze([]),
  sizeBytes: 0,
  problems: Object.freeze([]),
  unlistedCount: 0,
})

/**
 * The next state of the facts, while one event is folded: its lines cost what they are, not what is in force.
 *
 * 1. The state that it starts from is not changed.
 * 2. What exceeds a bound is reported, and what it would have taken the place of stays in force.
 */
export class FactsEdit {
  private readonly facts: Map<string, PinnedFact>
  private readonly problems: FactProblem[]
  private sizeBytes: number
  private unlistedCount: number

  constructor({ facts, sizeBytes, problems, unlistedCount }: FactsState) {
    this.facts = new Map(facts.map((fact) => [fact.key, fact]))
    this.problems = [...problems]
    this.sizeBytes = sizeBytes
    this.unlistedCount = unlistedCount
  }

  add(fact: PinnedFact): void {
    const earlier = this.facts.get(fact.key)
    const sizeBytes = this.sizeBytes + factSizeBytes(fact) - (earlier ? factSizeBytes(earlier) : 0)
    const { seq, text: line } = fact
    if (sizeBytes > factsSizeBytesHardMax) return this.report({ seq, line, reason: 'too-large' })
    if (!earlier && this.facts.size >= factCountHardMax) return this.report({ seq, line, reason: 'too-many' })
    // Deleted first, so that it moves to the end.
    this.facts.delete(fact.key)
    this.facts.set(fact.key, Object.freeze(fact))
    this.sizeBytes = sizeBytes
  }

  remove(key: string): void {
    const fact = this.facts.get(key)
    if (fact === undefined) return
    this.facts.delete(key)
    this.sizeBytes -= factSizeBytes(fact)
  }

  report(problem: FactProblem): void {
    this.problems.push(problemOf(problem))
    if (this.problems.length <= problemCountMax) return
    this.problems.shift()
    this.unlistedCount += 1
  }

  get state(): FactsState {
    return Object.freeze({
      facts: Object.freeze([...this.facts.values()]),
      sizeBytes: this.sizeBytes,
      problems: Object.freeze(this.problems),
      unlistedCount: this.unlistedCount,
    })
  }
}

/** With the beginning of its line. */
export function problemOf({ seq, line, reason }: FactProblem): FactProblem {
  return Object.freeze({ seq, line: beginningOf(line), reason })
}

/** Well-formed whatever the line was: a snapshot holds it, and so may a screen. */
function beginningOf(line: string): string {
  const isCutInPair = /[\ud800-\udbff]/.test(line.charAt(problemLineLengthMax - 1))
  return line.slice(0, isCutInPair ? problemLineLengthMax - 1 : problemLineLengthMax).toWellFormed()
}

export function factSizeBytes({ key, text }: PinnedFact): number {
  return sizeBytesOf(key) + sizeBytesOf(text)
}
