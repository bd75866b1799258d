/** A name may hold colons and dots, and is not the beginning of an address. */
export const tagName = '[A-Za-z][\\w.-]{0,63}(?::[\\w.-]{1,64})?'

const voids = new Set('area base br col embed hr img input link meta param source track wbr'.split(' '))

/** What is named so quotes, also where it is not closed and words stand around it. */
const quoting = new RegExp(
  `^(?:pre|blockquote|textarea|script|style|xmp|listing|q)$|(?:^|[-_.:])(?:${[
    ...[
      'file',
      'document',
      'attachment',
      'paste',
      'pasted',
      'pasted[-_]text',
      'quote',
      'quoted',
      'quotation',
    ],
    ...['excerpt', 'snippet', 'content'],
  ].join('|')})s?(?:[-_.]?\\d+)?$`,
)

// Of CommonMark: what interrupts a paragraph.
const block = new RegExp(
  `^(?:<!--|<[?]|<![A-Za-z]|<!\\[CDATA\\[|<(?:pre|script|style|textarea)(?=[ \\t>]|$)|</?(?:${[
    'address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|dialog|dir|div|dl',
    'dt|fieldset|figcaption|figure|footer|form|frame|frameset|h[1-6]|head|header|hr|html|iframe|legend|li|link|main',
    'menu|menuitem|nav|noframes|ol|optgroup|option|p|param|search|section|summary|table|tbody|td|tfoot|th|thead',
    'title|tr|track|ul',
  ].join('|')})(?=[ \\t]|/?>|$))`,
  'i',
)

export function isHtmlBlock(content: string): boolean {
  return block.test(content)
}

/** An element that can hold nothing. */
export function isVoid(name: string): boolean {
  return voids.has(name.toLowerCase())
}

/** An element whose name says that it holds somebody else's words. */
export function isQuoting(name: string): boolean {
  return quoting.test(name.toLowerCase())
}
