import { readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { runExample, type Ran } from '../process.ts'
import { fileWith, linesOf, repository, sample } from '../scratch.ts'
import { claude, text } from '../readers/record.ts'

const demo = join(repository, 'examples', 'demo', 'main.ts')
const runDemo = (...words: string[]): Promise<Ran> => runExample([demo, ...words])

function folderOf({ stdout }: Ran): string {
  const [, folder = ''] = /^Kept in (.+)$/m.exec(stdout) ?? []
  if (folder === '') throw new Error(`no folder was kept:\n${stdout}`)
  return folder
}

describe('the demo on the sample, from any folder', () => {
  let ran: Ran

  beforeAll(async () => {
    ran = await runExample([demo, sample], tmpdir())
  }, 60_000)

  afterAll(() => rmSync(folderOf(ran), { recursive: true, force: true }))

  it('kills a real process, and every check holds', () => {
    expect(ran).toMatchObject({ code: 0, stderr: '' })
    expect(ran.stdout).toContain('SIGKILL')
    expect(ran.stdout).toContain('CRITICAL: never touch the table audit_log')
    expect(ran.stdout.match(/^ {2}ok /gm)?.length).toBeGreaterThan(20)
    expect(ran.stdout).not.toMatch(/FAILED|skipped|\u001b/)
  })

  it('keeps its files, and the commands that it shows can read them', () => {
    const [, segment = ''] = /head -n 3 (.+)$/m.exec(ran.stdout) ?? []
    const lines = readFileSync(segment, 'utf8').split('\n').filter(Boolean)
    const types = lines.map((line) => (JSON.parse(line) as { type?: string }).type)
    expect(segment.startsWith(folderOf(ran))).toBe(true)
    expect(types).toContain('compact/start')
  })
})

it('several files are told one by one, with a table at the end', { timeout: 60_000 }, async () => {
  const short = fileWith(linesOf(claude.user('Hello'), claude.assistant('m1', text('Hello'))), 'short.jsonl')
  const ran = await runDemo(sample, short)
  onTestFinished(() => rmSync(folderOf(ran), { recursive: true, force: true }))
  expect(ran.code).toBe(0)
  expect(ran.stdout).toMatch(/^file +events +turns +facts +transcript +checks$/m)
  expect(ran.stdout).toMatch(/short\.jsonl +5 +1 +1 /)
})

it('of more labelled lines than can be in force some are, the others are counted, and every check holds', async () => {
  const lines = Array.from({ length: 1_100 }, (_, index) => `- CRITICAL: rule ${index}`).join('\n')
  const turns = Array.from({ length: 12 }, (_, turn) => [
    claude.user(`Go on with ${turn}`),
    claude.assistant(`m${turn}`, text('And more was done. '.repeat(40))),
  ])
  const many = fileWith(linesOf(claude.user(lines), ...turns.flat()), 'many.jsonl')
  const ran = await runDemo(many)
  onTestFinished(() => rmSync(folderOf(ran), { recursive: true, force: true }))
  expect(ran.stdout).not.toMatch(/FAILED|skipped|PINS_TOO_LARGE/)
  expect(ran).toMatchObject({ code: 0, stderr: '' })
  expect(ran.stdout).toContain('1052 facts more did not fit')
}, 60_000)

describe('what cannot be used is said on stderr, and the exit code is 2', () => {
  it.each([
    ['an unknown option', ['--fast'], 'unknown option --fast'],
    ['a missing file', ['no-such-file.jsonl'], 'no such file'],
    ['a folder', ['examples'], 'is a folder'],
    ['a foreign file', ['package.json'], 'a JSON document of an unknown kind'],
    ['a text file', ['LICENSE'], 'a text file'],
  ])('%s', async (_what, words, reason) => {
    const ran = await runDemo(...words)
    expect(ran).toMatchObject({ code: 2, stdout: '' })
    expect(ran.stderr).toContain(reason)
  })

  it('a damaged file, with the line', async () => {
    const ran = await runDemo(fileWith(`${linesOf(claude.user('Hello'))}{"torn`))
    expect(ran).toMatchObject({ code: 2, stdout: '' })
    expect(ran.stderr).toContain('line 2: is torn')
  })

  it('one bad file among good ones: nothing is run', async () => {
    const ran = await runDemo(sample, 'no-such-file.jsonl')
    expect(ran).toMatchObject({ code: 2, stdout: '' })
  })

  it('a file without a conversation', async () => {
    const ran = await runDemo(fileWith(linesOf({ type: 'summary', summary: 'x', leafUuid: 'x' })))
    expect(ran).toMatchObject({ code: 2 })
    expect(ran.stderr).toContain('holds no conversation')
  })
})

it('--help prints how it is used', async () => {
  expect(await runDemo('--help')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('Usage:') as string,
  })
})
