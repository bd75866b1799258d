import { describe, expect, it } from 'vitest'
import { findUntidy } from '../../scripts/tidy.mjs'

type File = { path: string; text: string }

const src = 'packages/session-core/src'
const commented = '// A reason.\n' + 'export const a = 1\n'.repeat(7)
const readme: File = { path: 'packages/session-core/README.md', text: 'word '.repeat(300) }
const clean: File[] = [readme, { path: `${src}/log.ts`, text: commented }]
const workplacePath = ['', 'work', 'x'].join('/')
const machinePath = ['', 'home', 'x'].join('/')
const registryHost = ['registry', 'npmjs', 'org'].join('.')

const rulesOf = (files: File[]) => findUntidy(files).map((each) => each.rule)

/** The findings that one more file adds to a clean tree. */
const planted = (path: string, text: string) =>
  findUntidy([...clean, { path, text }])
    .filter((each) => each.path === path)
    .map((each) => `${each.rule}:${each.line}`)

describe('tidy', () => {
  it('finds nothing in a clean tree', () => {
    expect(findUntidy(clean)).toEqual([])
  })

  it.each<[rule: string, path: string, text: string]>([
    ['src-length:251', `${src}/log2.ts`, 'export const a = 1\n'.repeat(251)],
    ['index-length:41', `${src}/index.ts`, "export { a } from './log.ts'\n".repeat(41)],
    ['index-lists:2', `${src}/index.ts`, "export { a } from './log.ts'\nexport const b = 1\n"],
    ['index-lists:1', `${src}/index.ts`, "import './log.ts'\n"],
    ['vague-name:1', `${src}/utils.ts`, ''],
    ['vague-name:1', `${src}/helpers/log.ts`, ''],
    ['vague-name:1', `${src}/session-manager.ts`, ''],
    ['core-without-node:1', `${src}/a.ts`, "import { join } from 'node:path'\n"],
    ['core-without-node:1', `${src}/a.ts`, "import { join } from 'path'\n"],
    ['cordis-at-the-edge:1', `${src}/plugin.ts`, "import type { Context } from 'cordis'\n"],
    ['cordis-at-the-edge:1', `${src}/plugin.ts`, "export type C = import('@deepseek-ai/cordis').Context\n"],
    ['fs-at-the-edge:1', 'packages/compaction/src/a.ts', "import { open } from 'node:fs/promises'\n"],
    ['no-default-export:1', `${src}/a.ts`, 'export default 1\n'],
    ['no-default-export:1', `${src}/a.ts`, 'export default function a() {}\n'],
    ['no-default-export:1', `${src}/a.ts`, "export { a as default } from './log.ts'\n"],
    ['no-hash-private:2', `${src}/a.ts`, 'export class A {\n  #b = 1\n}\n'],
    ['typed-errors:1', `${src}/a.ts`, "throw new Error('a')\n"],
    ['no-empty-catch:1', 'examples/a.ts', 'try { a() } catch { /* fine */ }\n'],
    ['no-only:1', 'test/a.test.ts', "it.only('a', () => {})\n"],
    ['no-only:1', 'test/a.test.ts', "describe.concurrent.only('a', () => {})\n"],
    ['no-silent-skip:1', 'test/a.test.ts', "it.skip('a', () => {})\n"],
    ['no-silent-skip:1', 'test/a.test.ts', "it('a', (context) => context.skip())\n"],
    ['readme-words:1', 'packages/compaction/README.md', 'word '.repeat(299)],
    ['readme-words:1', 'packages/compaction/README.md', 'word '.repeat(901)],
    ['agents-words:1', 'AGENTS.md', 'word '.repeat(601)],
    ['decision-words:1', 'docs/decisions/0001-a.md', 'word '.repeat(301)],
    ['no-workplace-path:2', 'test/golden/a.jsonl', `a\nsee ${workplacePath}\n`],
    ['no-machine-path:2', 'docs/format.md', `a\nsee ${machinePath}\n`],
    ['no-registry-host:1', 'pnpm-lock.yaml', `tarball: https://${registryHost}/a\n`],
  ])('%s is found in %s', (expected, path, text) => {
    expect(planted(path, text)).toContain(expected)
  })

  it.each<[what: string, path: string, text: string]>([
    [
      'an index at its limit',
      'packages/compaction/src/memory/index.ts',
      "export * from './a.ts'\n".repeat(40),
    ],
    ['cordis in its side entry', `${src}/cordis.ts`, "import type {} from 'cordis'\n"],
    ['node:fs in fs.ts', 'packages/compaction/src/journal/fs.ts', "import { open } from 'node:fs'\n"],
    ['a notice with a skip', 'test/a.test.ts', "it('a', (context) => context.skip('no network'))\n"],
    ['a rule named in a string', 'test/a.test.ts', "const text = 'it.only(1); throw new Error(2)'\n"],
    ['a path inside the repository', 'docs/format.md', 'see test/work/x and ../tmp/y\n'],
    ['a path in a recorded session', 'test/golden/a.jsonl', `{"cwd":"${machinePath}"}\n`],
    ['a decision at its limit', 'docs/decisions/0001-a.md', 'word '.repeat(300)],
  ])('%s is fine', (_, path, text) => {
    expect(planted(path, text)).toEqual([])
  })

  it('a package holds between 8 and 18 % of comment', () => {
    const share = (comments: number) => [
      readme,
      { path: `${src}/log.ts`, text: '// a\n'.repeat(comments) + 'a()\n\n'.repeat(100 - comments) },
    ]
    expect([7, 8, 18, 19].map((comments) => rulesOf(share(comments)))).toEqual([
      ['comment-share'],
      [],
      [],
      ['comment-share'],
    ])
  })

  it('JSDoc counts as comment', () => {
    const text = '/**\n * A log.\n */\n' + 'a()\n'.repeat(20)
    expect(rulesOf([readme, { path: `${src}/log.ts`, text }])).toEqual([])
  })

  it('a package without a README is found', () => {
    expect(rulesOf(clean.slice(1))).toEqual(['readme-there'])
  })
})
