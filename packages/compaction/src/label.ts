import { closes, fenceOpenedBy, type Fence } from './fence.ts'
import { isFactKey } from './schemas.ts'

/** What a person writes at the beginning of a line to pin it, unless the host says otherwise. */
export const labelsDefault: readonly string[] = ['CRITICAL:', 'CONSTRAINT:', 'FACT:']

/** A line that begins with a label: exactly what stands there, from the label on. */
export type LabelledLine =
  | { readonly kind: 'fact'; readonly text: string; readonly key?: string }
  /** `malformed`: half a surrogate pair, which nobody could show as it is. */
  | { readonly kind: 'problem'; readonly text: string; readonly reason: 'empty' | 'malformed' }

// Up to three spaces, then at most one list marker; four spaces or a tab make a line code.
const beginning = /^ {0,3}(?:(?:[-*+]|\d{1,9}[.)]) {1,4})?/
const colons: readonly (string | undefined)[] = [':', '：']

/**
 * The labelled lines of one text, in their order. A label covers its own line and nothing after it. Lines end at LF
 * and CRLF only. What is quoted, fenced or indented as code is somebody else's text, whoever sent it. Pure; linear in
 * the text.
 */
export function labelledLines(text: string, labels: readonly string[]): readonly LabelledLine[] {
  const known = labels.map(labelOf).sort((one, other) => other.name.length - one.name.length)
  if (!known.some(({ name }) => text.includes(name))) return []
  const found: LabelledLine[] = []
  let fence: Fence | undefined
  for (const line of linesOf(text)) {
    if (fence !== undefined) {
      if (closes(fence, line)) fence = undefined
      continue
    }
    fence = fenceOpenedBy(line)
    const labelled = fence === undefined ? read(line, known) : undefined
    if (labelled) found.push(labelled)
  }
  return found
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

function* linesOf(text: string): Generator<string> {
  let from = 0
  while (from <= text.length) {
    const end = text.indexOf('\n', from)
    const isLast = end === -1
    const through = isLast ? text.length : end
    yield text.slice(from, !isLast && text[through - 1] === '\r' && through > from ? through - 1 : through)
    from = through + 1
  }
}

function read(line: string, labels: readonly Label[]): LabelledLine | undefined {
  const begins = beginning.exec(line)?.[0].length ?? 0
  for (const label of labels) {
    if (!line.startsWith(label.name, begins)) continue
    const text = line.slice(begins, endOf(line))
    const split = label.hasColon ? splitAtColon(text, label.name.length) : splitAfter(text, label.name.length)
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

interface Split {
  readonly key?: string
  /** What the label says something of. */
  readonly said: string
}

/** `LABEL: said`, `LABEL[key]: said` or `LABEL: [key] said`. */
function splitAtColon(text: string, nameLength: number): Split | undefined {
  if (colons.includes(text[nameLength])) return splitAfter(text, nameLength + 1)
  const close = text[nameLength] === '[' ? text.indexOf(']', nameLength) : -1
  if (close === -1 || !colons.includes(text[close + 1])) return undefined
  const key = text.slice(nameLength + 1, close)
  return { said: text.slice(close + 2), ...(isFactKey(key) && { key }) }
}

function splitAfter(text: string, from: number): Split {
  const said = text.slice(from)
  const open = said.length - said.trimStart().length
  const close = said[open] === '[' ? said.indexOf(']', open) : -1
  const key = said.slice(open + 1, close)
  // `[words](address)` and `[words][name]` are links, and two links of the same words are two facts.
  const isLink = said[close + 1] === '(' || said[close + 1] === '['
  return close === -1 || isLink || !isFactKey(key) ? { said } : { key, said: said.slice(close + 1) }
}

function judged(text: string, { key, said }: Split): LabelledLine {
  if (!text.isWellFormed()) return { kind: 'problem', text, reason: 'malformed' }
  if (said.trim() === '') return { kind: 'problem', text, reason: 'empty' }
  return { kind: 'fact', text, ...(key !== undefined && { key }) }
}
