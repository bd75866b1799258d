import { labelledLines, labelsDefault } from '@tidemark/compaction'
import type { Author } from '@tidemark/session-core'
import type { Step } from '../readers/step.ts'

/** A line that must survive, and the index of the step that said it. */
export interface FactLine {
  readonly text: string
  readonly index: number
}

export interface FactChoice {
  readonly facts: readonly FactLine[]
  /** Labelled lines that did not fit. */
  readonly leftOutCount: number
}

/** Together, in UTF-8: what compaction shows to a model at every call has to stay small. */
export const factsSizeBytesMax = 12_000
const factCountMax = 48
const quotedCountMax = 2
const quotedLengthMax = 240

/**
 * The lines that people labelled in their own messages. Where there are none: two lines quoted from what
 * people wrote, or else from any message in the user's seat.
 */
export function chooseFacts(steps: readonly Step[]): FactChoice {
  const labelled = labelledIn(steps)
  if (labelled.length > 0) return fitting(labelled)
  const human = linesOf(steps, (author) => author === 'human')
  const lines = human.length > 0 ? human : linesOf(steps, () => true)
  return { facts: lines.slice(0, quotedCountMax).map(quoted), leftOutCount: 0 }
}

function fitting(lines: readonly FactLine[]): FactChoice {
  let sizeBytes = 0
  const facts = lines.slice(0, factCountMax).filter(({ text }) => {
    const next = sizeBytes + Buffer.byteLength(text)
    if (next <= factsSizeBytesMax) sizeBytes = next
    return next <= factsSizeBytesMax
  })
  return { facts, leftOutCount: lines.length - facts.length }
}

/** As compaction reads them, so that nothing is pinned a second time; of each key the last one. */
function labelledIn(steps: readonly Step[]): readonly FactLine[] {
  const found = new Map<string, FactLine>()
  steps.forEach((step, index) => {
    if (step.type !== 'user/message') return
    for (const part of step.data.parts) {
      if (part.type !== 'text' || part.author !== 'human') continue
      for (const line of labelledLines(part.text, labelsDefault)) {
        if (line.kind !== 'fact') continue
        const name = line.key ?? line.text
        found.delete(name)
        found.set(name, { text: line.text, index })
      }
    }
  })
  return [...found.values()]
}

/** Each different line once, without the white space around it. */
function linesOf(steps: readonly Step[], counts: (author: Author) => boolean): readonly FactLine[] {
  const found = new Map<string, FactLine>()
  steps.forEach((step, index) => {
    if (step.type !== 'user/message') return
    for (const part of step.data.parts) {
      if (part.type !== 'text' || !counts(part.author)) continue
      for (const line of part.text.toWellFormed().split('\n')) {
        const text = line.trim()
        if (text !== '' && !found.has(text)) found.set(text, { text, index })
      }
    }
  })
  return [...found.values()]
}

/** The beginning of a long line, never ending inside a character. */
function quoted({ text, index }: FactLine): FactLine {
  const head = text.slice(0, quotedLengthMax)
  return { text: (head.isWellFormed() ? head : head.slice(0, -1)).trim(), index }
}
