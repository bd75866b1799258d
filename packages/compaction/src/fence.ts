/** An open fence of code: what closes it is no shorter, of the same character, and no further in. */
export interface Fence {
  readonly character: string
  readonly length: number
  /** Columns. A fence that a list item opens is closed at the item's own indentation. */
  readonly indentMax: number
}

const opening = /^( {0,3}(?:(?:[-*+]|\d{1,9}[.)]) {1,4})?)(`{3,}|~{3,})(.*)$/s
const closing = /^( *)(`{3,}|~{3,})[ \t]*$/
const markerlessIndentMax = 3

/** The fence that a line opens. A row of backticks with another one behind it is code within a line. */
export function fenceOpenedBy(line: string): Fence | undefined {
  const [, before = '', fence = '', info = ''] = opening.exec(line) ?? []
  if (fence === '' || (fence.startsWith('`') && info.includes('`'))) return undefined
  const isMarked = before.trim() !== ''
  const indentMax = isMarked ? before.length + markerlessIndentMax : markerlessIndentMax
  return { character: fence.charAt(0), length: fence.length, indentMax }
}

export function closes(fence: Fence, line: string): boolean {
  const [, indent = '', row = ''] = closing.exec(line) ?? []
  return row.startsWith(fence.character) && row.length >= fence.length && indent.length <= fence.indentMax
}
