import { Config, labelledLines, labelsDefault } from '@tidemark/compaction'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

const linesIn = (text: string, labels: readonly string[] = labelsDefault) => labelledLines(text, labels)
const textsIn = (text: string): string[] => linesIn(text).map((line) => line.text)
const key128 = 'k'.repeat(128)

describe('a labelled line', () => {
  it.each([
    ['alone', 'CRITICAL: never push', 'CRITICAL: never push'],
    ['between lines', 'hello\nFACT: it is 5\nbye', 'FACT: it is 5'],
    ['that ends with CRLF', 'a\r\nFACT: it is 5\r\nbye', 'FACT: it is 5'],
    ['with one space before it', ' FACT: x', 'FACT: x'],
    ['with three spaces before it', '   FACT: x', 'FACT: x'],
    ['after a dash', '- FACT: x', 'FACT: x'],
    ['after a star', '* FACT: x', 'FACT: x'],
    ['after a plus', '+ FACT: x', 'FACT: x'],
    ['after a number', '1. FACT: x', 'FACT: x'],
    ['after a longer number', '12) FACT: x', 'FACT: x'],
    ['after an indented marker', '   -   FACT: x', 'FACT: x'],
    ['with a full-width colon', 'CONSTRAINT：每次都要问', 'CONSTRAINT：每次都要问'],
    ['with no space after its colon', 'FACT:x', 'FACT:x'],
    ['with blanks at its end', 'FACT: x \t ', 'FACT: x'],
    ['with blanks inside it', 'FACT:  a \t b', 'FACT:  a \t b'],
    ['with another label in it', 'FACT: CRITICAL: x', 'FACT: CRITICAL: x'],
    ['with a carriage return in it', 'FACT: a\rCRITICAL: b', 'FACT: a\rCRITICAL: b'],
    ['with a line separator in it', 'FACT: a\u2028CRITICAL: b', 'FACT: a\u2028CRITICAL: b'],
    ['after a paragraph that goes on', 'so it goes\nFACT: x', 'FACT: x'],
    ['with code within it', 'FACT: use ```x``` here', 'FACT: use ```x``` here'],
  ])('%s is the line itself', (_, text, expected) => {
    expect(linesIn(text)).toMatchObject([{ kind: 'fact', text: expected }])
  })

  it.each([
    ['in a sentence', 'I say FACT: x'],
    ['of other letters', 'fact: x'],
    ['that is a longer word', 'FACTS: x'],
    ['without its colon', 'FACT x'],
    ['with a space before its colon', 'FACT : x'],
    ['in bold', '**FACT:** x'],
    ['after two markers', '- - FACT: x'],
    ['after a marker without a space', '-FACT: x'],
    ['after a check box', '- [ ] FACT: x'],
    ['after a marker and five spaces', '-     FACT: x'],
    ['after ten digits', '1234567890. FACT: x'],
    ['after a letter for a number', 'a. FACT: x'],
    ['that is quoted', '> FACT: x'],
    ['that is quoted without a space', '  >FACT: x'],
    ['that is quoted in a list', '- > FACT: x'],
    ['that is indented by four spaces', '    FACT: x'],
    ['that is indented by a tab', '\tFACT: x'],
    ['that is indented by a space and a tab', ' \tFACT: x'],
    ['after a byte order mark', '\ufeffFACT: x'],
    ['after a line separator', 'a\u2028FACT: x'],
    ['after a lone carriage return', 'a\rFACT: x'],
    ['of another list', 'NOTE: x'],
  ])('%s is none', (_, text) => {
    expect(linesIn(text)).toEqual([])
  })

  it('covers itself and nothing after it', () => {
    expect(textsIn('CRITICAL: never\n  push on a Friday\n\nFACT: x\nand more')).toEqual([
      'CRITICAL: never',
      'FACT: x',
    ])
  })

  it.each([
    ['directly before the colon', 'FACT[a]: x', 'a'],
    ['before a full-width colon', 'FACT[a]：x', 'a'],
    ['directly after the label', 'FACT: [a] x', 'a'],
    ['after the label without a space', 'FACT:[a]x', 'a'],
    ['in other letters', 'FACT[发布]: x', '发布'],
    ['with a space in it', 'FACT[a b]: x', 'a b'],
    ['of 128 characters', `FACT[${key128}]: x`, key128],
    ['before the colon, whatever follows it', 'FACT[a]: [b] x', 'a'],
    ['with a zero-width non-joiner in it', 'FACT[قانون\u200cها]: x', 'قانون\u200cها'],
    ['with a joined emoji in it', 'FACT: [👩\u200d💻] x', '👩\u200d💻'],
    ['with brackets in it', 'FACT[a[b]]: x', 'a[b]'],
    ['with brackets in it, after the label', 'FACT: [a[b]] x', 'a[b]'],
    ['in full-width brackets', 'FACT［a］：x', 'a'],
    ['in full-width brackets after the label', 'FACT：［a］x', 'a'],
  ])('has a key %s', (_, text, key) => {
    expect(linesIn(text)).toEqual([{ kind: 'fact', text, key }])
  })

  it.each([
    ['when it is empty and after the label', 'FACT: [] x'],
    ['when it is blank and after the label', 'FACT: [ ] x'],
    ['when it is not closed', 'FACT: [a x'],
    ['when it is the words of a link', 'FACT: [a](https://example.org) x'],
    ['when it is the words of a link by name', 'FACT: [a][b] x'],
    ['further in', 'FACT: x [a]'],
  ])('has no key %s, and the brackets are part of it', (_, text) => {
    expect(linesIn(text)).toEqual([{ kind: 'fact', text }])
  })

  it.each([
    ['is empty', 'FACT[]: x'],
    ['is blank', 'FACT[ ]: x'],
    ['is made of joiners', 'FACT[\u200d\u200c]: x'],
    ['is of 129 characters', `FACT[${key128}k]: x`],
    ['is of 129 characters and after the label', `FACT: [${key128}k] x`],
    ['could end its line', 'FACT[a\u2028b]: x'],
    ['holds a right-to-left mark', 'FACT[a\u200f]: x'],
    ['holds a control', 'FACT: [a\u0007] x'],
  ])('whose key %s has none, and says so', (_, text) => {
    expect(linesIn(text)).toEqual([{ kind: 'fact', text, hasUnfitKey: true }])
  })

  it.each(['FACT[a] b: x', 'FACT[a b: x', 'FACT［a: x', 'FACT[a] : x'])(
    'whose brackets are not followed by the colon is a problem: %j',
    (text) => {
      expect(linesIn(text)).toEqual([{ kind: 'problem', text, reason: 'unfit-key' }])
    },
  )

  it('with a space before its key, or no colon at all, is none', () => {
    expect(linesIn('FACT [a]: x\nFACT[0] is the first')).toEqual([])
  })

  it.each([
    'FACT:',
    'FACT: \t',
    '- FACT:\r',
    'FACT[a]:',
    'FACT: [a]',
    'FACT：\u3000',
    'FACT: \u200b\u2060',
    'x\nFACT:\ny',
  ])('with nothing to say is a problem: %j', (text) => {
    expect(linesIn(text)).toMatchObject([{ kind: 'problem', reason: 'empty' }])
  })

  it('with half a surrogate pair is a problem, and a whole pair is none', () => {
    expect(linesIn('FACT: \ud83c')).toMatchObject([{ kind: 'problem', reason: 'malformed' }])
    expect(linesIn('FACT: 🌊')).toMatchObject([{ kind: 'fact' }])
  })
})

describe('code that is fenced', () => {
  it.each([
    ['backticks', '```\nFACT: x\n```'],
    ['tildes', '~~~\nFACT: x\n~~~'],
    ['a language', '```ts\nFACT: x\n```'],
    ['words and backticks after tildes', '~~~ a `b`\nFACT: x\n~~~'],
    ['a longer fence', '`````\n```\nFACT: x\n`````'],
    ['a fence of the other kind in it', '```\n~~~\nFACT: x\n```'],
    ['CRLF', '```\r\nFACT: x\r\n```\r\n'],
    ['three spaces before it', '   ```\nFACT: x\n   ```'],
    ['a list item around it', '- ```\n  FACT: x\n  ```'],
    ['a deep list item around it', '12. ```\n    FACT: x\n       ```'],
    ['a quotation in it', '```\n> ```\nFACT: x\n```'],
  ])('with %s pins nothing', (_, text) => {
    expect(linesIn(text)).toEqual([])
  })

  it.each([
    ['its end in a list item, up to three columns further in', '- run\n  ```\n  FACT: x\n     ```\nwords'],
    ['a nested list item around it', '- a\n  - ```\n    FACT: x\n    ```\nwords'],
    ['a list item around it that goes on after a blank line', '- a\n\n  ~~~\n  FACT: x\n  ~~~'],
    ['a list item around it whose paragraph was lazy', '- a\nlazy\n  ```\n  FACT: x\n  ```'],
    ['an item before it that a blank line ended', '-\n\n  ```\nFACT: x\n```'],
    ['a marker that is alone on its line', '-\n  ```\n  FACT: x\n  ```'],
  ])('with %s pins nothing', (_, text) => {
    expect(linesIn(text)).toEqual([])
  })

  it.each([
    ['no end', '```\nFACT: x\nFACT: y'],
    ['an end with words behind it', '```\nFACT: x\n``` no\nFACT: y'],
    ['an end that is too short', '````\nFACT: x\n```\nFACT: y'],
    ['an end that is indented as code', '```\nFACT: x\n    ```\nFACT: y'],
    ['the end of its list item', '- ```\n  FACT: x\n  FACT: y\nwords'],
    ['the end of its list item by another fence', '- ```\n  FACT: x\n  FACT: y\n```\nFACT: z\n```'],
    ['an end that is four columns further in than its item', '- ```\n  FACT: x\n      ```\n  FACT: y'],
  ])('that has %s pins nothing, and each labelled line in it is a problem', (_, text) => {
    const found = linesIn(text)
    expect(found.length).toBe(text.split('FACT: ').length - 1 - (text.includes('FACT: z') ? 1 : 0))
    for (const line of found) expect(line).toMatchObject({ kind: 'problem', reason: 'unclosed-code' })
  })

  it.each([
    ['its end in a numbered item, one column further in', '1. run:\n   ```\n   make\n    ```\n\nFACT: x'],
    ['its end in an item, three columns further in', '- run\n  ```\n  make\n     ```\nFACT: x'],
    ['its end in an item that is marked with a tab', '-\trun\n\n    ```\n    make\n    ```\nFACT: x'],
    ['the end of its item without an end of its own', '- ```\n  make\n\nFACT: x'],
    ['the next item', '- ```\n  make\n- FACT: x'],
    ['a thematic break, which is no item', '* * *\n  ```\n  make\n```\nFACT: x'],
    ['a year that begins a line, which is no item', 'since\n2019. ```\nFACT: x'],
    ['its end', '```\ncode\n```\nFACT: x'],
    ['a longer end', '```\ncode\n`````\nFACT: x'],
    ['an end with blanks behind it', '```\ncode\n``` \t\nFACT: x'],
    ['the end of a list item', '- ```\n  code\n  ```\n- FACT: x'],
    ['two backticks, which are none', '``\nFACT: x\n``'],
    ['one that is code in a line', '```a```\nFACT: x'],
    ['one that is quoted', '> ```\nFACT: x'],
    ['one that is indented as code', '    ```\nFACT: x'],
  ])('lets a line be pinned after %s', (_, text) => {
    expect(textsIn(text)).toEqual(['FACT: x'])
  })
})

describe('labels of a host', () => {
  it('are taken as they are, with either colon where they end in one', () => {
    const labels = ['规则：', 'MUST', 'a+b (c):', 'NOTE', 'NOTE WELL:']
    const lines = linesIn('规则: x\n规则[k]：y\nMUST not\na+b (c)[k]: z\nNOTE WELL: w\nFACT: no', labels)
    expect(lines).toEqual([
      { kind: 'fact', text: '规则: x' },
      { kind: 'fact', text: '规则[k]：y', key: 'k' },
      { kind: 'fact', text: 'MUST not' },
      { kind: 'fact', text: 'a+b (c)[k]: z', key: 'k' },
      { kind: 'fact', text: 'NOTE WELL: w' },
    ])
  })

  it('none at all pin nothing', () => {
    expect(linesIn('FACT: x', [])).toEqual([])
    expect(Config.parse({ labels: [] }).labels).toEqual([])
  })

  it('are refused where they could begin no line, and at one more than the bounds', () => {
    const good = [['x'.repeat(64)], ['规则：'], Array.from({ length: 32 }, (_, index) => `L${index}:`)]
    for (const labels of good) expect(Config.safeParse({ labels }).success).toBe(true)
    const bad = [[''], [' x:'], ['> x:'], ['a\nb:'], ['x'.repeat(65)], Array(33).fill('x:'), 'x:']
    for (const label of ['- RULE:', '* RULE:', '1) RULE:', '~~~RULE:', '```RULE:']) bad.push([label])
    for (const labels of bad) expect(Config.safeParse({ labels }).success).toBe(false)
  })
})

const pieces = fc.constantFrom(
  'FACT: a',
  'FACT[k]: b',
  'CRITICAL: [k] c',
  'CONSTRAINT：',
  '```',
  '````',
  '~~~',
  '``` ts',
  '- ```',
  '  ```',
  '> FACT: q',
  '- FACT: d',
  '    FACT: i',
  'words',
  '',
  ' \t',
)
const texts = fc
  .array(fc.tuple(pieces, fc.constantFrom('\n', '\r\n')), { maxLength: 30 })
  .map((lines) => lines.flat().join(''))

describe('any text', () => {
  it('has labelled lines that are parts of it, in its order', () => {
    const any = fc.oneof(texts, fc.string({ unit: 'binary', maxLength: 200 }))
    fc.assert(
      fc.property(any, (text) => {
        let from = 0
        for (const line of linesIn(text)) {
          const at = text.indexOf(line.text, from)
          expect(at).toBeGreaterThanOrEqual(from)
          from = at + line.text.length
          expect(line.text).not.toMatch(/\n|[ \t]$/)
        }
      }),
    )
  })

  it('gives nothing for what stands between a fence and its end', () => {
    const fence = fc.tuple(fc.constantFrom('`', '~'), fc.integer({ min: 3, max: 9 }))
    fc.assert(
      fc.property(texts, fence, fc.boolean(), (text, [character, length], isClosed) => {
        // Longer than any fence of the pieces: nothing in the text can be its end.
        const row = character.repeat(length + 2)
        const inner = text.replaceAll(row, '')
        const fenced = `${row}\n${inner}\n${isClosed ? row : ''}\n`
        for (const line of linesIn(fenced)) expect([isClosed, line.kind]).toEqual([false, 'problem'])
        if (isClosed) expect(textsIn(`${fenced}FACT: after`)).toEqual(['FACT: after'])
      }),
    )
  })

  // What is quadratic in the length takes minutes here; what is not, a second.
  it('is read in a time that grows with its length alone', { timeout: 60_000 }, () => {
    const length = 1_600_000
    const hostile = [
      `FACT: ${' '.repeat(length)}x`,
      `FACT: x${' '.repeat(length)}`,
      `FACT:[${'['.repeat(length)}`,
      `FACT[${' '.repeat(length)}`,
      `${'`'.repeat(length)}x\nFACT: y`,
      '- '.repeat(length),
      '\n'.repeat(length),
      'FACT:\r\n'.repeat(length / 4),
    ]
    for (const text of hostile) expect(textsIn(`FACT: first\n${text}`)[0]).toBe('FACT: first')
  })
})
