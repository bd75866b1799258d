import { describe, expect, it } from 'vitest'
import { findUntidy } from '../../scripts/tidy.mjs'

type File = { path: string; text: string }

const page = 'docs/guarantees.md'
const test = 'test/session-core/log.test.ts'

const stating = (...numbers: readonly (number | string)[]): File => ({
  path: page,
  text: ['# What holds', '', ...numbers.map((number) => `- **G${number}** Something holds.`), ''].join('\n'),
})
const titled = (...titles: readonly string[]): File => ({
  path: test,
  text: titles.map((title) => `it('${title}', () => {})\n`).join(''),
})

const found = (...files: readonly File[]): string[] =>
  findUntidy([...files])
    .filter(({ rule }) => rule.startsWith('promise-'))
    .map(({ path, line, rule }) => `${path}:${line} ${rule}`)

const one = [stating(1), titled('G1: it holds')]
/** What one more file adds to a page with one promise that a test holds. */
const planted = (path: string, text: string): string[] => found(...one, { path, text })

describe('a promise', () => {
  it('that a test’s title names is held, and nothing is found', () => {
    expect(found(stating(1, 2), titled('G1: it holds', 'K01, G2: so does it'))).toEqual([])
  })

  it('that no title names is found where it stands', () => {
    expect(found(stating(1, 2), titled('G1: it holds'))).toEqual([`${page}:4 promise-held`])
    expect(found(stating(1))).toEqual([`${page}:3 promise-held`])
  })

  it('is missed when its title goes', () => {
    const titles = ['G1: a', 'G2: b', 'G3: c']
    for (const gone of titles.keys()) {
      const left = titled(...titles.filter((_, index) => index !== gone))
      expect(found(stating(1, 2, 3), left)).toEqual([`${page}:${gone + 3} promise-held`])
    }
  })

  it.each([
    ['a mention without a colon', test, "it('is as G1 says', () => {})\n"],
    ['a longer number', test, "it('G11: it holds', () => {})\n"],
    ['another numbering', test, "it('FR-G1: it holds', () => {})\n"],
    ['a suite', test, "describe('G1: it holds', () => {})\n"],
    ['a test that is to be written', test, "it.todo('G1: it holds')\n"],
    ['a test that is left out', test, "it.skip('G1: it holds', () => {})\n"],
    ['a string that is no title', test, "expect('G1: it holds')\n"],
    ['the rows of a table', test, "it.each([['G1: it holds']])('%s', () => {})\n"],
    ['a comment', test, "// G1: it holds\nit('holds', () => {})\n"],
    ['the long run', 'test/session-persistence/long/a.long.ts', "it('G1: it holds', () => {})\n"],
    ['source', 'packages/session-core/src/log.ts', "it('G1: it holds', () => {})\n"],
  ])('is not held by %s', (_, path, text) => {
    expect(found(stating(1), { path, text })).toContain(`${page}:3 promise-held`)
  })

  it.each([
    ['a row of tests', test, "it.each([1, 2])('G1: it holds for %i', () => {})\n"],
    ['a title of pieces', test, 'it(`G1: it holds for ${name}`, () => {})\n'],
    ['a test in a suite', test, "describe('a', () => {\n  it('G1: it holds', () => {})\n})\n"],
    ['a campaign', 'test/session-persistence/campaigns/a.test.ts', "testCampaign('G1: it holds', run)\n"],
    [
      'a fact of the kit',
      'packages/session-persistence/src/testkit/contract/a.ts',
      "const facts = { 'G1: it holds': fact }\n",
    ],
  ])('is held by %s', (_, path, text) => {
    expect(found(stating(1), { path, text })).toEqual([])
  })
})

describe('the numbers of promises', () => {
  it.each([
    ['a gap', [1, 3], 4],
    ['a number twice', [1, 2, 2], 5],
    ['a number out of order', [2, 1], 3],
    ['a leading zero', ['01'], 3],
    ['a beginning at 0', [0, 1], 3],
  ])('%s is found', (_, numbers, line) => {
    const titles = titled(...numbers.map((number) => `G${number}: it holds`))
    expect(found(stating(...numbers), titles)).toEqual([`${page}:${line} promise-numbers`])
  })
})

describe('a number that is cited', () => {
  it.each([
    ['in a title', test, "it('G1: it holds', () => {})\nit('G2: so does it', () => {})\n", 2],
    ['in the title of a suite', test, "describe('G2', () => {})\n", 1],
    ['in the title of a long run', 'test/a/long/a.long.ts', "it('G2: it holds', () => {})\n", 1],
    ['with a leading zero', test, "it('G01: it holds', () => {})\n", 1],
    ['in a README', 'packages/compaction/README.md', 'a\nAs G2 says.\n', 2],
    ['in another page', 'docs/failures.md', '| G2 | (G1)\n', 1],
    ['in AGENTS.md', 'AGENTS.md', 'See (G2).\n', 1],
    ['in a comment of a source', 'packages/session-core/src/a.ts', '/**\n * Keeps G2.\n */\n', 2],
    ['after code', 'packages/session-core/src/a.ts', 'const a = 1 // keeps G2\n', 1],
    ['in a comment of a test', test, '// G2\n', 1],
    ['in a script', 'scripts/a.mjs', '// G2\n', 1],
  ])('%s has to be on the page', (_, path, text, line) => {
    expect(planted(path, text)).toEqual([`${path}:${line} promise-stated`])
    expect(planted(path, text.replaceAll(/G0?\d/g, 'G1'))).not.toContain(`${path}:${line} promise-stated`)
  })

  it.each([
    ['code', 'packages/session-core/src/a.ts', "const G2 = 'G2'\n"],
    ['another numbering', 'docs/format.md', 'FR-G2, R2, XG2, G2x and G\n'],
    ['data', 'test/golden/a.jsonl', '{"text":"G2"}\n'],
  ])('is not looked for in %s', (_, path, text) => {
    expect(planted(path, text)).toEqual([])
  })

  it('is found everywhere when the page is gone', () => {
    expect(found(titled('G1: it holds', 'G2: it holds'))).toEqual([
      `${test}:1 promise-stated`,
      `${test}:2 promise-stated`,
    ])
  })
})
