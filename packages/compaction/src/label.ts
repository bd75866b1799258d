import type { FactProblemReason } from './fact.ts'
import { colons, keyAfterColon, keyBeforeColon, type KeyRead } from './label-key.ts'
import type { Place } from './passage.ts'
import type { Quotation } from './quotation.ts'
import { Quotations } from './quotations.ts'
import { isVisible } from './visible.ts'

/** What a person writes at the beginning of a line to pin it, unless the host says otherwise. */
export const labelsDefault: readonly string[] = ['CRITICAL:', 'CONSTRAINT:', 'FACT:']

/** A line that begins with a label: exactly what stands there, from the label on. */
export type LabelledLine =
  | {
      readonly kind: 'fact'
      readonly text: string
      readonly key?: string
      /** It names a key that cannot be one, and so it has none. */
      readonly hasUnfitKey?: true
    }
  | { readonly kind: 'problem'; readonly text: string; readonly reason: LineProblemReason }

type LineProblemReason = Exclude<FactProblemReason, 'too-many' | 'too-large' | 'over-bound'>

// Up to three spaces, then at most one list marker; four spaces or a tab make a line code.
const beginning = /^ {0,3}(?:(?:[-*+]|\d{1,9}[.)]) {1,4})?/

/**
 * The labelled lines of one text, in their order. A label covers its own line and nothing after it. Lines end at LF
 * and CRLF only. What is quoted or code is somebody else's text, whoever sent it; where that is not marked on the line
 * itself, it may be the person's own, and is reported. Pure; linear in the text.
 */
export function labelledLines(text: string, labels: readonly string[]): readonly LabelledLine[] {
  const known = labels.map(labelOf).sort((one, other) => other.name.length - one.name.length)
  if (!known.some(({ name }) => text.includes(name))) return []
  const found: { readonly labelled: LabelledLine; readonly place: Place }[] = []
  const quotations = new Quotations(text)
  for (const { line, at } of linesOf(text)) {
    const place = quotations.take(line, at)
    const labelled = read(line, known)
    if (labelled) found.push({ labelled, place })
  }
  quotations.finish()
  return found.flatMap(({ labelled, place: { within } }) => (within ? quoted(labelled, within) : [labelled]))
}

interface Label {
  readonly name: string
  /** Then either colon will do, and a key may stand before it. */
  readonly hasColon: boolean
}

function labelOf(label: string): Label {
  const hasColon = colons.includes(label.at(-1))
  return { name: hasColon ? label.slice(0, -1) : label, hasColon }
}

function* linesOf(text: string): Generator<{ readonly line: string; readonly at: number }> {
  let at = 0
  while (at <= text.length) {
    const end = text.indexOf('\n', at)
    const isLast = end === -1
    const through = isLast ? text.length : end
    const isCrLf = !isLast && text[through - 1] === '\r' && through > at
    yield { line: text.slice(at, isCrLf ? through - 1 : through), at }
    at = through + 1
  }
}

function read(line: string, labels: readonly Label[]): LabelledLine | undefined {
  const begins = beginning.exec(line)?.[0].length ?? 0
  for (const label of labels) {
    if (!line.startsWith(label.name, begins)) continue
    const text = line.slice(begins, endOf(line))
    const { length } = label.name
    const split = label.hasColon ? splitAtColon(text, length) : keyAfterColon(text.slice(length))
    if (split !== undefined) return judged(text, split)
  }
  return undefined
}

/** Without the blanks at its end. A regular expression would be quadratic on many of them. */
function endOf(line: string): number {
  let end = line.length
  while (end > 0 && (line[end - 1] === ' ' || line[end - 1] === '\t')) end--
  return end
}

/** `LABEL: said`, `LABEL[key]: said` or `LABEL: [key] said`. */
function splitAtColon(text: string, nameLength: number): KeyRead | 'unfit' | undefined {
  if (colons.includes(text[nameLength])) return keyAfterColon(text.slice(nameLength + 1))
  return keyBeforeColon(text, nameLength)
}

function judged(text: string, split: KeyRead | 'unfit'): LabelledLine {
  if (!text.isWellFormed()) return { kind: 'problem', text, reason: 'malformed' }
  if (split === 'unfit') return { kind: 'problem', text, reason: 'unfit-key' }
  const { key, isUnfit, said } = split
  if (!isVisible(said)) return { kind: 'problem', text, reason: 'empty' }
  return { kind: 'fact', text, ...(key !== undefined && { key }), ...(isUnfit && { hasUnfitKey: true }) }
}

/** Nothing is said of a fence that has its end: everybody knows what that means. */
function quoted({ text }: LabelledLine, { kind, isEnded }: Quotation): readonly LabelledLine[] {
  if (kind === 'fence') return isEnded ? [] : [{ kind: 'problem', text, reason: 'unclosed-code' }]
  return [{ kind: 'problem', text, reason: isEnded ? 'quoted' : 'unclosed-quote' }]
}
