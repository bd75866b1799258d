/** An open fence of code: what closes it is no shorter, of the same character, and hardly further in. */
interface Fence {
  readonly character: string
  readonly length: number
  /** Where the content of its list item begins; 0 outside of lists. */
  readonly column: number
}

/** What a line is. `isCode`: a fence or what it holds. `ends`: how an earlier fence ended here. */
export interface LinePlace {
  readonly isCode: boolean
  readonly ends?: 'closed' | 'unclosed'
}

interface Reading {
  /** Of what stands behind indentation and list markers. */
  readonly column: number
  readonly content: string
  /** Content columns of the list items that hold the line, outermost first. */
  readonly items: readonly number[]
}

const row = /^(`{3,}|~{3,})(.*)$/s
const marker = /^(?:[-*+]|\d{1,9}[.)])(?=[ \t]|$)/
const thematicBreak = /^([-*_])(?:[ \t]*\1){2,}[ \t]*$/
const notParagraph = /^(?:>|#{1,6}(?:[ \t]|$))/
const tabColumns = 4
/** Further in than this, a line is indented code. */
const indentMax = 3
const blanksAfterMarkerMax = 4
/** What is nested deeper is indented so far that nothing in it is taken for a fence. */
const itemsMax = 4

/**
 * Fenced code, told line by line as CommonMark has it: a fence is closed by a row of its own, or ends with the list
 * item that holds it. Lines that are quoted are text, and HTML is not followed.
 */
export class Fences {
  private items: readonly number[] = []
  private fence: Fence | undefined
  /** Whether the last line was one of a paragraph, which goes on without indentation. */
  private isParagraph = false

  take(line: string): LinePlace {
    const { columns, length } = blanksAt(line, 0, 0)
    const isBlank = length === line.length
    const { fence } = this
    if (fence === undefined) return { isCode: isBlank ? this.leaveParagraph() : this.read(line) }
    if (isBlank) return { isCode: true }
    if (columns < fence.column) {
      this.fence = undefined
      return { isCode: this.read(line), ends: 'unclosed' }
    }
    if (!closes(fence, line.slice(length), columns)) return { isCode: true }
    this.fence = undefined
    return { isCode: true, ends: 'closed' }
  }

  private leaveParagraph(): false {
    this.isParagraph = false
    return false
  }

  /** Whether the line opens a fence. */
  private read(line: string): boolean {
    const { column, content, items } = this.reading(line)
    const base = items.at(-1) ?? 0
    const isIndented = column - base > indentMax
    this.fence = isIndented ? undefined : fenceOpenedBy(content, base)
    const isOther = !isIndented && (thematicBreak.test(content) || notParagraph.test(content))
    const isText = this.fence === undefined && !isOther && content !== ''
    const goesOn =
      this.isParagraph && isText && items.length <= this.items.length && isPrefix(items, this.items)
    if (!goesOn) this.items = items
    this.isParagraph = isText && (!isIndented || this.isParagraph)
    return this.fence !== undefined
  }

  /** Leaves the items that the line is not indented for, and enters those that it begins. */
  private reading(line: string): Reading {
    let { columns: column, length: at } = blanksAt(line, 0, 0)
    const items = this.items.filter((item) => item <= column)
    let interrupts = this.isParagraph && items.length === this.items.length
    while (items.length < itemsMax && column - (items.at(-1) ?? 0) <= indentMax) {
      const content = line.slice(at)
      const [found] = marker.exec(content) ?? []
      if (found === undefined || thematicBreak.test(content)) break
      const after = column + found.length
      const blanks = blanksAt(line, at + found.length, after)
      const isEmpty = at + found.length + blanks.length === line.length
      // Else it is a line of the paragraph, such as a year at the beginning of one.
      if (interrupts && (isEmpty || (found.length > 1 && Number.parseInt(found, 10) !== 1))) break
      interrupts = false
      items.push(isEmpty || blanks.columns > blanksAfterMarkerMax ? after + 1 : after + blanks.columns)
      column = after + blanks.columns
      at += found.length + blanks.length
    }
    return { column, content: line.slice(at), items }
  }
}

/** The fence that a row opens. A row of backticks with another one behind it is code within a line. */
function fenceOpenedBy(content: string, column: number): Fence | undefined {
  const [, fence = '', info = ''] = row.exec(content) ?? []
  if (fence === '' || (fence.startsWith('`') && info.includes('`'))) return undefined
  return { character: fence.charAt(0), length: fence.length, column }
}

function closes({ character, length, column }: Fence, content: string, columns: number): boolean {
  const [, fence = '', rest = ''] = row.exec(content) ?? []
  const isRow = fence.startsWith(character) && fence.length >= length && /^[ \t]*$/.test(rest)
  return isRow && columns - column <= indentMax
}

function isPrefix(items: readonly number[], of: readonly number[]): boolean {
  return items.every((item, index) => item === of[index])
}

/** Spaces and tabs from `at` on, which stands at `column`. */
function blanksAt(line: string, at: number, column: number): { columns: number; length: number } {
  let end = at
  let reached = column
  for (; line[end] === ' ' || line[end] === '\t'; end++) {
    reached += line[end] === '\t' ? tabColumns - (reached % tabColumns) : 1
  }
  return { columns: reached - column, length: end - at }
}
