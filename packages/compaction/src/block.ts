import { isHtmlBlock } from './html.ts'
import type { Quotation } from './quotation.ts'

/** An open fence of code: what closes it is no shorter, of the same character, and hardly further in. */
class Fence implements Quotation {
  readonly kind = 'fence'
  isEnded = false

  constructor(
    private readonly row: string,
    /** Where the content of its list item begins; 0 outside of lists. */
    readonly column: number,
  ) {}

  isClosedBy(content: string, columns: number): boolean {
    const [, found = '', rest = ''] = row.exec(content) ?? []
    const isRow = found.startsWith(this.row) && /^[ \t]*$/.test(rest)
    return isRow && columns - this.column <= indentMax
  }
}

/**
 * What a line is among the blocks of its text.
 *
 * - `fenced`: a fence of code, or what it holds.
 * - `marked`: marked as quoted, or blank, or indented code: it holds no labelled line, and nothing is read in it.
 * - `lazy`: it has no mark, and goes on with the paragraph of a quotation.
 * - `begins`, `goes-on`: text, of a block that begins here, or of the paragraph before; `content` is behind its markers.
 */
export type Block =
  | { readonly kind: 'fenced'; readonly fence: Quotation }
  | { readonly kind: 'marked' }
  | { readonly kind: 'lazy' | 'begins' | 'goes-on'; readonly content: string }

interface Reading {
  /** Of what stands behind indentation and list markers. */
  readonly column: number
  readonly content: string
  /** Content columns of the list items that hold the line, outermost first. */
  readonly items: readonly number[]
  /** Whether one of them begins here. */
  readonly beginsItem: boolean
}

const row = /^(`{3,}|~{3,})(.*)$/s
const marker = /^(?:[-*+]|\d{1,9}[.)])(?=[ \t]|$)/
const thematicBreak = /^([-*_])(?:[ \t]*\1){2,}[ \t]*$/
const heading = /^#{1,6}(?:[ \t]|$)/
const underline = /^=+[ \t]*$/
const tabColumns = 4
/** Further in than this, a line is indented code. */
const indentMax = 3
const blanksAfterMarkerMax = 4
/** What is nested deeper is indented so far that nothing in it is taken for a fence. */
const itemsMax = 4
/** A mark of a quotation that is nested deeper is text of it. */
const quotationsMax = 8
const marked = { kind: 'marked' } as const

/**
 * The blocks of a text, told line by line as CommonMark has them, as far as it matters to whom a line belongs: fences,
 * quotations, list items and paragraphs. Where its implementations differ, a line belongs to the quotation before it.
 */
export class Blocks {
  private items: readonly number[] = []
  private fence: Fence | undefined
  /** What the quotation holds that the last line was of. */
  private quotation: Blocks | undefined
  /** Whether the last line was one of a paragraph, which goes on without indentation. */
  private isParagraph = false
  /** Whether the last line was the marker of an item alone, which a blank line ends. */
  private isEmptyItem = false

  constructor(private readonly depth = 0) {}

  take(line: string): Block {
    const { columns, length } = blanksAt(line, 0, 0)
    const isBlank = length === line.length
    const { fence } = this
    if (fence === undefined) return isBlank ? this.leaveParagraph() : this.read(line)
    if (isBlank) return { kind: 'fenced', fence }
    if (columns < fence.column) {
      this.fence = undefined
      return this.read(line)
    }
    if (fence.isClosedBy(line.slice(length), columns)) {
      fence.isEnded = true
      this.fence = undefined
    }
    return { kind: 'fenced', fence }
  }

  /** Whether a line that begins nothing goes on with what was last. */
  private get isOpen(): boolean {
    return this.isParagraph || this.quotation?.isOpen === true
  }

  private leaveParagraph(): Block {
    if (this.isEmptyItem) this.items = this.items.slice(0, -1)
    this.isEmptyItem = false
    this.isParagraph = false
    this.quotation = undefined
    return marked
  }

  private read(line: string): Block {
    const reading = this.reading(line)
    const { column, content, items, beginsItem } = reading
    const base = items.at(-1) ?? 0
    const isIndented = column - base > indentMax
    if (!isIndented && content.startsWith('>') && this.depth < quotationsMax) return this.quote(reading)
    this.fence = isIndented ? undefined : fenceOpenedBy(content, base)
    if (this.fence !== undefined) return this.begin(items, { kind: 'fenced', fence: this.fence })
    const isBreak = !isIndented && thematicBreak.test(content)
    if (isBreak || content === '') {
      this.begin(items, marked)
      this.isEmptyItem = beginsItem && content === ''
      return marked
    }
    if (!isIndented && (heading.test(content) || isHtmlBlock(content)))
      return this.begin(items, { kind: 'begins', content })
    if (this.isOpen && !beginsItem) {
      if (this.quotation) return { kind: 'lazy', content }
      this.isParagraph = isIndented || items.length < this.items.length || !underline.test(content)
      return { kind: 'goes-on', content }
    }
    this.begin(items, marked)
    this.isParagraph = !isIndented
    return isIndented ? marked : { kind: 'begins', content }
  }

  private begin(items: readonly number[], block: Block): Block {
    this.items = items
    this.quotation = undefined
    this.isParagraph = false
    this.isEmptyItem = false
    return block
  }

  private quote({ column, content, items, beginsItem }: Reading): Block {
    const goesOn = !beginsItem && items.length === this.items.length
    const quotation = goesOn ? this.quotation : undefined
    this.begin(items, marked)
    this.quotation = quotation ?? new Blocks(this.depth + 1)
    const { columns, length } = blanksAt(content, 1, column + 1)
    this.quotation.take(' '.repeat(Math.max(0, columns - 1)) + content.slice(1 + length))
    return marked
  }

  /** Leaves the items that the line is not indented for, and enters those that it begins. */
  private reading(line: string): Reading {
    let { columns: column, length: at } = blanksAt(line, 0, 0)
    const items = this.items.filter((item) => item <= column)
    const { length: heldCount } = items
    let interrupts = this.isOpen && (items.length === this.items.length || this.quotation !== undefined)
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
    return { column, content: line.slice(at), items, beginsItem: items.length > heldCount }
  }
}

/** The fence that a row opens. A row of backticks with another one behind it is code within a line. */
function fenceOpenedBy(content: string, column: number): Fence | undefined {
  const [, fence = '', info = ''] = row.exec(content) ?? []
  if (fence === '' || (fence.startsWith('`') && info.includes('`'))) return undefined
  return new Fence(fence, column)
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
