import { Enclosure, type TagEnds } from './enclosure.ts'
import { isQuoting, isVoid, tagName } from './html.ts'
import { endedQuotation, type Quotation } from './quotation.ts'

/** A line of a paragraph, or a heading. */
export interface PassageLine {
  /** Without its markers. */
  readonly content: string
  /** Where that stands in the text. */
  readonly at: number
  readonly place: Place
}

/** Where a line stands: what it begins in, as soon as that is known. */
export interface Place {
  within?: Quotation
}

const marks = new RegExp(`\\\\.|\`+|"""|'''|<!--|<(${tagName})(?=[\\s/>]|$)([^<>]*>)?`, 'g')

/** What is quoted in the lines of one paragraph: code within them, and what is enclosed. */
export class Passage {
  private readonly text: string
  private readonly starts: readonly number[]
  private readonly runs = new Map<number, number[]>()
  /** The first line that is not looked at. */
  private next = 0
  /** The line of the last mark that was asked about. */
  private line = 0

  constructor(
    private readonly lines: readonly PassageLine[],
    private readonly tagEnds: TagEnds,
  ) {
    this.text = lines.map(({ content }) => content).join('\n')
    let start = 0
    this.starts = lines.map(({ content }) => (start += content.length + 1) - content.length - 1)
    for (const {
      0: { length },
      index,
    } of this.text.matchAll(/`+/g)) {
      const known = this.runs.get(length)
      if (known) known.push(index)
      else this.runs.set(length, [index])
    }
    for (const known of this.runs.values()) known.reverse()
  }

  /** Says of each line what it begins in. Gives what is still open at the end. */
  read(): Enclosure | undefined {
    const pattern = new RegExp(marks)
    for (let found = pattern.exec(this.text); found !== null; found = pattern.exec(this.text)) {
      const behind = pattern.lastIndex
      if (found[0].startsWith('`')) {
        pattern.lastIndex = this.findEndOfCode(found[0].length, behind) ?? behind
        this.mark(found.index, pattern.lastIndex, endedQuotation)
        continue
      }
      const enclosure = this.opened(found)
      if (enclosure === undefined) continue
      const end = enclosure.findEnd(this.text, behind)
      this.mark(found.index, end ?? this.text.length, enclosure)
      if (end === undefined) return enclosure
      pattern.lastIndex = end
    }
    return undefined
  }

  /** Code ends at as many backticks as it began with; else they are text. */
  private findEndOfCode(length: number, from: number): number | undefined {
    const runs = this.runs.get(length) ?? []
    while ((runs.at(-1) ?? from) < from) runs.pop()
    const end = runs.at(-1)
    return end === undefined ? undefined : end + length
  }

  private mark(from: number, through: number, quotation: Quotation): void {
    for (; this.next < this.starts.length; this.next++) {
      const start = this.starts[this.next] ?? 0
      if (start >= through) return
      const { place } = this.lines[this.next] as PassageLine
      if (start > from) place.within ??= quotation
    }
  }

  private opened(found: RegExpExecArray): Enclosure | undefined {
    const { 0: mark, 1: name, index } = found
    if (mark === '"""' || mark === "'''" || mark === '<!--') return Enclosure.of(mark)
    if (name === undefined || isVoid(name) || mark.endsWith('/>')) return undefined
    const isTag =
      isQuoting(name) || this.isAlone(index, mark) || this.tagEnds.isBehind(name, this.placeOf(index))
    return isTag ? Enclosure.ofTag(name) : undefined
  }

  /** Where a mark stands in the whole text; they come in order. */
  private placeOf(index: number): number {
    while ((this.starts[this.line + 1] ?? Infinity) <= index) this.line++
    const { at } = this.lines[this.line] as PassageLine
    return at + index - (this.starts[this.line] ?? 0)
  }

  /** Whether a tag has its lines to itself. */
  private isAlone(index: number, mark: string): boolean {
    if (!mark.endsWith('>')) return false
    let before = index - 1
    while (isBlank(this.text[before])) before--
    let after = index + mark.length
    while (isBlank(this.text[after])) after++
    return [before, after].every((at) => this.text[at] === undefined || this.text[at] === '\n')
  }
}

function isBlank(character: string | undefined): boolean {
  return character === ' ' || character === '\t'
}
