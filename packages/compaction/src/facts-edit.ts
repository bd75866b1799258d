import type { FactProblem, FactsState, PinnedFact } from './fact.ts'
import { sizeBytesOf } from './size.ts'

/**
 * Hard bounds of the projection, and the highest that a host can set for itself: with these, what people label beyond
 * them is reported, and never in the way of a compaction.
 */
export const factCountHardMax = 1_000
export const factsSizeBytesHardMax = 1_048_576

const problemCountMax = 32
const problemLineLengthMax = 200

export const noFacts: FactsState = Object.freeze({
  facts: Object.freeze([]),
  sizeBytes: 0,
  problems: Object.freeze([]),
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

  constructor({ facts, sizeBytes, problems }: FactsState) {
    this.facts = new Map(facts.map((fact) => [fact.key, fact]))
    this.problems = [...problems]
    this.sizeBytes = sizeBytes
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

  report({ seq, line, reason }: FactProblem): void {
    this.problems.push(Object.freeze({ seq, line: beginningOf(line), reason }))
    if (this.problems.length > problemCountMax) this.problems.shift()
  }

  get state(): FactsState {
    return Object.freeze({
      facts: Object.freeze([...this.facts.values()]),
      sizeBytes: this.sizeBytes,
      problems: Object.freeze(this.problems),
    })
  }
}

/** Well-formed whatever the line was: a snapshot holds it, and so may a screen. */
function beginningOf(line: string): string {
  const isCutInPair = /[\ud800-\udbff]/.test(line.charAt(problemLineLengthMax - 1))
  return line.slice(0, isCutInPair ? problemLineLengthMax - 1 : problemLineLengthMax).toWellFormed()
}

function factSizeBytes({ key, text }: PinnedFact): number {
  return sizeBytesOf(key) + sizeBytesOf(text)
}
