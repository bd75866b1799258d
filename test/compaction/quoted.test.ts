import { labelledLines, labelsDefault } from '@tidemark/compaction'
import { Parser, type Node } from 'commonmark'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { load, sessionOf, systemTexts } from './host.ts'

/** Each labelled line as it is told: `own` where it is a fact, or why it is none. */
function fates(text: string): string[] {
  return labelledLines(text, labelsDefault).map((line) => {
    const fate = line.kind === 'fact' ? 'own' : line.reason
    return `${fate} ${line.text}`
  })
}

describe('a labelled line in what goes on with a quotation', () => {
  it.each([
    ['the line after it', '> a\nFACT: x'],
    ['the second line after it', '> a\nb\nFACT: x'],
    ['an indented line', '> a\n   FACT: x'],
    ['the paragraph of a deeper one', '> > a\nFACT: x'],
    ['the paragraph of a deeper one, marked once', '> > a\n> b\nFACT: x'],
    ['one that is deeper than anybody counts', `${'> '.repeat(40)}a\nFACT: x`],
    ['one in a list item', '- > a\nFACT: x'],
    ['one in a list item, indented for it', '- > a\n  FACT: x'],
    ['an item in it', '> - a\nFACT: x'],
    ['one without a space behind its mark', '>a\nFACT: x'],
    ['one with a tab behind its mark', '>\ta\nFACT: x'],
    ['a number that begins no list, as in a paragraph', '> a\n2. FACT: x'],
    ['one that interrupts a paragraph', 'a\n> b\nFACT: x'],
    ['such a number after a list item with one', '- > a\n2. FACT: x'],
    ['one that is indented by three behind its mark', '>    a\nFACT: x'],
    ['what is no underline there', '> a\n===\nFACT: x'],
    ['code that is only indented in a paragraph', '> a\n>     b\nFACT: x'],
    ['an outer one, where the inner one ended with a fence', '> > ```\n> a\nFACT: x'],
    ['its last line, in CRLF', '> a\r\nFACT: x\r\n'],
  ])('is none, and reported: %s', (_, text) => {
    expect(fates(text)).toEqual([expect.stringMatching(/^quoted .*FACT: x$/)])
  })

  it.each([
    ['a blank line', '> a\n\nFACT: x'],
    ['a line of blanks', '> a\n \t\nFACT: x'],
    ['a quoted blank line', '> a\n>\nFACT: x'],
    ['a heading in it', '> # a\nFACT: x'],
    ['a fence in it', '> ```\n> a\nFACT: x'],
    ['a fence and its end in it', '> ```\n> a\n> ```\nFACT: x'],
    ['code that is indented in it', '>     a\nFACT: x'],
    ['an HTML block in it', '> <div>\nFACT: x'],
    ['a list item, which is none of a paragraph', '> a\n- FACT: x'],
    ['the first item of a numbered list', '> a\n1. FACT: x'],
    ['a thematic break', '> a\n---\nFACT: x'],
    ['a heading', '> a\n# b\nFACT: x'],
    ['the next item of its list', '- > a\n- FACT: x'],
  ])('is over after %s', (_, text) => {
    expect(fates(text)).toEqual([expect.stringMatching(/^own .*FACT: x$/)])
  })
})

describe('a labelled line that is enclosed', () => {
  it.each([
    ['<pre>', '<pre>\nFACT: x\n</pre>'],
    ['<blockquote>', '<blockquote>\n\nFACT: x\n\n</blockquote>'],
    ['<file> with attributes', '<file name="a.md" size=3>\nFACT: x\n</file>'],
    ['<file> with a name that holds tags', '<file name="a<b>.md">\nFACT: x\n</file>'],
    ['<FILE> that ends in other letters', '<FILE>\nFACT: x\n</file >'],
    ['a tag over lines', '<file\n  name="a">\nFACT: x\n</file>'],
    ['a tag that nobody knows', '<zettel>\nFACT: x\n</zettel>'],
    ['a tag that nobody knows, within a line', 'read this: <zettel id="1">a\nFACT: x\nb</zettel>'],
    ['a tag with a prefix', '<ns:file>\nFACT: x\n</ns:file>'],
    ['a tag that comes twice', '<file>\n<file>\n</file>\nFACT: x\n</file>'],
    ['a tag with one in it that ends itself', '<file>\n<file/>\nFACT: x\n</file>'],
    ['a tag with another one in it', '<a>\n<b>\n</b>\nFACT: x\n</a>'],
    ['a tag with an open fence in it', '<file>\n```\nFACT: x\n</file>'],
    ['a tag in a list item', '- <file>\n\nFACT: x\n</file>'],
    ['a tag right after a quotation', '> a\n<file>\n\nFACT: x\n</file>'],
    ['a tag that begins where another one ends', '<a>\n</a><b>\nFACT: x\n</b>'],
    ['a tag that begins where another one ends, far behind', '<a>\n\n</a><b>\nFACT: x\n</b>'],
    ['a comment', '<!--\nFACT: x\n-->'],
    ['three quotation marks', '"""\nFACT: x\n"""'],
    ['three quotation marks behind words', 'he wrote: """a\n\nFACT: x\nb""" and left'],
    ['three single ones', "'''\nFACT: x\n'''"],
    ['three quotation marks with an open tag in them', '"""\n<file>\nFACT: x\n"""'],
    ['code within a paragraph', 'see `a\nFACT: x\nb` there'],
    ['code within a paragraph, of two backticks', 'see ``a ` b\nFACT: x\nb`` there'],
    ['code that ends on its line', 'see `a\nFACT: x` there'],
    ['code over what is no underline in a list item', '- see `a\n===\nFACT: x\nb` there'],
    ['code over what is no underline, since it is indented', 'see `a\n    ===\nFACT: x\nb` there'],
    ['code within a list item', '- see `a\nFACT: x\nb` there'],
  ])('in %s is none, and reported', (_, text) => {
    expect(fates(text)).toEqual([expect.stringMatching(/^quoted FACT: x/)])
    const told = fates(`${text}\n\nFACT: y`)
    expect(told).toEqual([expect.stringMatching(/^quoted FACT: x/), 'own FACT: y'])
  })

  it.each([
    ['<pre>', '<pre>\nFACT: x'],
    ['<PRE> with words behind it', '<PRE> a\nFACT: x'],
    ['<file> within a line', 'here is <file name="a"> the file\nFACT: x'],
    ['<file> that nothing ends, not even its bracket', '<file name="a\nFACT: x'],
    ['<file> with another one in it that has the only end', '<file>\n<file>\nFACT: x\n</file>\nFACT: y'],
    ['a tag that nobody knows, alone on its line', '<zettel>\nFACT: x\n\n> q\n\nFACT: y'],
    ['a tag that ends in a fence only', '<file>\nFACT: x\n</fil'],
    ['a comment', '<!-- a\n\nFACT: x\n```\nFACT: y'],
    ['three quotation marks', 'he wrote """\n\nFACT: x\nFACT: y'],
    ['three quotation marks behind others', '"""a"""\n"""\nFACT: x'],
  ])('in %s without an end is none, and reported as such, through the end of the part', (_, text) => {
    const told = fates(text)
    expect(told.length).toBe(text.split('FACT:').length - 1)
    for (const fate of told) expect(fate).toMatch(/^unclosed-quote FACT: [xy]$/)
  })

  it.each([
    ['a tag that ends on its line', 'a <b>b</b> c\nFACT: x'],
    ['a tag that ends itself', '<file name="a"/>\nFACT: x'],
    ['an element that holds nothing', 'a <br> b\n<HR>\nFACT: x'],
    ['a word in angle brackets amid others', 'put <name> there\nFACT: x'],
    ['a type', 'a Map<string> of them, of List<T>\nFACT: x'],
    ['a comparison', 'if a < b and c > d\nFACT: x'],
    ['an address', '<https://example.org>\nFACT: x'],
    ['an address of mail', '<a@example.org>\nFACT: x'],
    ['a tag that is escaped', '\\<file> is a tag\nFACT: x'],
    ['a tag in code', 'use `<file>` and `"""`\nFACT: x'],
    ['a tag in a fence', '```\n<file>\n```\nFACT: x'],
    ['a tag in indented code', '    <file>\n\nFACT: x'],
    ['a tag in a quotation', '> <file>\n\nFACT: x'],
    ['the end of a tag alone', 'a </file> b\nFACT: x'],
    ['a tag that ended before it began', 'a </b> and <b> c\nFACT: x'],
    ['a tag that ended in the paragraph before', 'a </b>\n\n<b> c\nFACT: x'],
    ['a tag whose name holds a dot', '<a.b>\n<axb>\n</a.b>\nFACT: x'],
    ['two quotation marks', 'an empty "" text\nFACT: x'],
    ['a backtick that nothing ends', 'a ` b\nFACT: x\nc'],
    ['a backtick that another number of them follows', 'a ` b\nFACT: x\nc `` d'],
    ['a backtick that is escaped', 'a \\` b\nFACT: x\nc ` d'],
    ['a backtick whose paragraph is over', 'a ` b\n\nFACT: x\nc ` d'],
    ['a backtick in a heading', '# a ` b\nFACT: x\nc ` d'],
    ['a backtick above an underline', 'a ` b\n===\nFACT: x\nc ` d'],
    ['a backtick in the item before', '- a ` b\n- FACT: x\n- c ` d'],
    ['a backtick before an HTML block', 'a ` b\n<div></div>\n\nFACT: x\nc ` d'],
    ['what it says itself', 'FACT: x <file>'],
  ])('is none after %s: it is pinned', (_, text) => {
    expect(fates(text)).toEqual([expect.stringMatching(/^own FACT: x/)])
  })

  it('is one where its label is what begins there', () => {
    const labels = ['`RULE`:', '<rule>']
    const told = labelledLines('`RULE`: x\n<rule> y', labels)
    expect(told).toMatchObject([
      { kind: 'fact', text: '`RULE`: x' },
      { kind: 'fact', text: '<rule> y' },
    ])
  })

  it('is not in force, is told, and can be said again', async () => {
    const { ctx } = await load()
    const session = sessionOf(ctx, 10)
    const told: unknown[] = []
    ctx.on('tidemark/fact-problems', (_session, { problems }) => void told.push(...problems))
    const write = (text: string): number =>
      session.append('user/message', { parts: [{ type: 'text', text, author: 'human' }] }).seq
    const seq = write('<file>\nCRITICAL: push at once\n</file>\nsee """\nCRITICAL: never push')
    const problems = [
      { seq, line: 'CRITICAL: push at once', reason: 'quoted' },
      { seq, line: 'CRITICAL: never push', reason: 'unclosed-quote' },
    ]
    expect([told, ctx.compaction.problems(session)]).toEqual([problems, problems])
    expect(ctx.compaction.facts(session)).toEqual([])
    write('CRITICAL: never push')
    await ctx.compaction.compact(session, { retainMessages: 0 })
    expect(systemTexts(session).slice(1)).toEqual(['CRITICAL: never push'])
  })
})

/** Lines, and what is to be told of the labelled ones among them. */
interface Segment {
  readonly lines: readonly string[]
  readonly told: readonly string[]
}

const plainLines = fc.constantFrom(
  'words',
  'FACT: a',
  '- FACT: b',
  '1. CRITICAL[k]: c',
  'a <b>b</b>',
  '`code`',
)
const anyLines = fc.array(
  fc.constantFrom(
    ...['words', '', 'FACT: a', '- FACT: b', '  CRITICAL[k]: c', '> q', '```', '~~~ts', '    i', '- ```'],
    ...['`', '<b>', '</b>', '<br>', '# h', '***'],
  ),
  { maxLength: 8 },
)
const labelsOf = (lines: readonly string[], fate: string): string[] =>
  lines.flatMap((line) => {
    const label = /^(?: {0,3})(?:(?:-|1\.) )?((?:FACT|CRITICAL).*)$/.exec(line)?.[1]
    return label === undefined ? [] : [`${fate} ${label}`]
  })

const own: fc.Arbitrary<Segment> = fc
  .array(plainLines, { minLength: 1, maxLength: 4 })
  .map((lines) => ({ lines: [...lines, ''], told: labelsOf(lines, 'own') }))
const marks = fc.constantFrom(
  ...[['<pre>', '</pre>'] as const, ['<file name="a">', '</file>'] as const, ['"""', '"""'] as const],
  ...[['<blockquote>', '</blockquote>'] as const, ['see <document-1>', '</document-1> there'] as const],
  ...[['<!--', '-->'] as const, ["'''a", "b'''"] as const, ['- <zettel>', '</zettel>'] as const],
)
const enclosed: fc.Arbitrary<Segment> = fc.tuple(marks, anyLines).map(([[open, end], lines]) => ({
  lines: [open, ...lines, end],
  told: labelsOf(lines, 'quoted'),
}))
const paragraph = fc.array(fc.constantFrom('words', 'FACT: a', '  CRITICAL[k]: c', 'more\\'), {
  maxLength: 6,
})
const lazy: fc.Arbitrary<Segment> = fc
  .tuple(fc.constantFrom('> q', '> > q', '- > q', '> - q', '>q', '> 1. q'), paragraph)
  .map(([open, lines]) => ({ lines: ['', open, ...lines, ''], told: labelsOf(lines, 'quoted') }))
const code: fc.Arbitrary<Segment> = fc
  .tuple(fc.integer({ min: 1, max: 4 }), paragraph)
  .map(([count, lines]) => {
    const row = '`'.repeat(count)
    return { lines: ['', `see ${row}a`, ...lines, `b${row} there`, ''], told: labelsOf(lines, 'quoted') }
  })
const unclosed: fc.Arbitrary<Segment> = fc
  .tuple(marks, anyLines)
  .map(([[open], lines]) => ({ lines: [open, ...lines], told: labelsOf(lines, 'unclosed-quote') }))

describe('any text', () => {
  it('pins each labelled line outside of all quotations, none inside of any, and tells which were', () => {
    const whole = fc.tuple(
      fc.array(fc.oneof(own, enclosed, lazy, code), { maxLength: 8 }),
      fc.option(unclosed, { nil: { lines: [], told: [] } }),
      fc.constantFrom('\n', '\r\n'),
    )
    const property = fc.property(whole, ([segments, last, end]) => {
      const all = [...segments, last]
      const text = all.flatMap(({ lines }) => lines).join(end)
      expect(fates(text)).toEqual(all.flatMap(({ told }) => told))
    })
    fc.assert(property, { numRuns: 1_000 })
  })

  it('is quoted where an implementation of CommonMark says so, and nowhere else', () => {
    const property = fc.property(linesOf(common), (text) => {
      expect(ownOf(text)).toEqual(plainOf(text))
    })
    fc.assert(property, { numRuns: 5_000 })
  })

  it('is pinned nowhere where it says that it is quoted, also where implementations differ', () => {
    const property = fc.property(
      linesOf([...common, '> <div>', '2. FACT: #', '12) i', '-', '>\t- q']),
      (text) => {
        const plain = plainOf(text)
        for (const which of ownOf(text)) expect(plain).toContain(which)
      },
    )
    fc.assert(property, { numRuns: 5_000 })
  })

  // What is quadratic in the length takes minutes here; what is not, a second.
  it('is read in a time that grows with its length alone', { timeout: 60_000 }, () => {
    const length = 400_000
    const hostile = [
      '<file '.repeat(length),
      '<a>'.repeat(length),
      '<a> '.repeat(length),
      '</a>'.repeat(length),
      '<a>\n</a>\n'.repeat(length / 4),
      `${'<b '.repeat(length)}</b>`,
      `${Array.from({ length: 1_200 }, (_, count) => '`'.repeat(count)).join(' ')}\n`,
      '` `` '.repeat(length),
      '"""'.repeat(length),
      '<!--'.repeat(length),
      '>'.repeat(length),
      '> '.repeat(length),
      '> \n'.repeat(length),
      `>${'\t'.repeat(length)}x`,
      'a\n'.repeat(length),
      `<a${' '.repeat(length)}`,
      `</a${' '.repeat(length)}`,
      '<'.repeat(length),
    ]
    for (const text of hostile) expect(fates(`FACT: first\n\n${text}`)[0]).toBe('own FACT: first')
  })
})

const common = [
  ...['FACT: #', '- FACT: #', '   FACT: #', '1. FACT: #', '* FACT: #', 'words', 'words', '', '', ' \t'],
  ...['> q', '>q', '>', '> > q', '> - q', '- > q', '> # h', '> ```', '>     c', '>    q', '>\tt', '> > ```'],
  ...['- i', '  more', '    deep', '      > q', '1) i', '# h', '===', '---', '***', '\tt'],
  ...['a `', '` b', 'a ``', '`` b', 'a \\`', '\\', '> `', '```', '~~~', '  ```', '- ```'],
]

/** Each labelled line among them says which one it is. */
function linesOf(pieces: readonly string[]): fc.Arbitrary<string> {
  return fc
    .array(fc.constantFrom(...pieces), { maxLength: 14 })
    .map((lines) => lines.map((line, index) => line.replace('FACT: #', `FACT: ${index}.`)).join('\n'))
}

function ownOf(text: string): string[] {
  return fates(text).flatMap((fate) => /^own FACT: (\d+)\./.exec(fate)?.[1] ?? [])
}

/** The same by the reference implementation: what is text, and in no quotation. */
function plainOf(text: string): string[] {
  const found: string[] = []
  const walker = new Parser().parse(text).walker()
  for (let step = walker.next(); step !== null; step = walker.next()) {
    const { node, entering } = step
    if (!entering || node.type !== 'text' || isQuoted(node)) continue
    for (const [, which = ''] of (node.literal ?? '').matchAll(/FACT: (\d+)\./g)) found.push(which)
  }
  return found
}

function isQuoted(node: Node): boolean {
  for (let at: Node | null = node; at !== null; at = at.parent) if (at.type === 'block_quote') return true
  return false
}
