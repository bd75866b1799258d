import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'

const run = promisify(execFile)
const script = (name: string): string => fileURLToPath(new URL(name, import.meta.url))

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tidemark-hosts-'))
})
afterEach(() => rm(folder, { recursive: true }))

async function facts(name: string, ...args: string[]): Promise<Record<string, unknown>> {
  const { stdout } = await run(process.execPath, [script(name), ...args], { timeout: 60_000 })
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as Record<string, unknown>
}

describe.each(['cordis', '@deepseek-ai/cordis'])('the build in %s', (host) => {
  it('creates, forks, compacts and resumes, and each plugin reloads while a session is live', async () => {
    expect(await facts('story.mjs', host, join(folder, 'root'))).toMatchObject({
      stored: true,
      forkOrphans: 'orphaned',
      parentLive: 'live',
      compacted: 'applied',
      smaller: true,
      pinned: true,
      compactedAgain: 'applied',
      appendAfterStoreGone: 'DISPOSED',
      livesAfterStore: 2,
      boundariesAfterStore: 1,
      sameTranscript: true,
      sameLength: true,
      livesAfterCore: 3,
      boundariesAfterCore: 2,
      persistedThroughCore: true,
      sessionsLeft: [],
      errors: [],
    })
  })
})

it('the same plugins load from a cordis.yml, and its entries go and come back while a session lives', async () => {
  const config = await readFile(script('cordis.yml'), 'utf8')
  const path = join(folder, 'cordis.yml')
  await writeFile(path, config.replace('ROOT', JSON.stringify(join(folder, 'root'))))
  // The loader resolves package names from the folder of the file.
  await symlink(script('../../node_modules'), join(folder, 'node_modules'))
  expect(await facts('loader.mjs', path)).toMatchObject({
    stored: 'stored',
    compacted: 'applied',
    persistenceGone: true,
    appendAfter: 'DISPOSED',
    boundary: 'session/resumed',
    summary: true,
    compactionGone: true,
    stillAppends: 'accepted',
    unknownNow: 'UNKNOWN_TYPE compact/end',
    errors: [],
  })
})
