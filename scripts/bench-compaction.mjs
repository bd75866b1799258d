import { join } from 'node:path'
import { CommandFailed, runNode } from './command.mjs'
import { setUp } from './setup.mjs'

try {
  setUp()
  const main = join('bench', 'compaction', 'main.mjs')
  // The readers of real transcripts are TypeScript.
  process.exitCode = await runNode(['--import', 'tsx', main, ...process.argv.slice(2)])
} catch (error) {
  if (!(error instanceof CommandFailed)) throw error
  console.error(`the benchmark could not be set up: ${error.message}`)
  process.exitCode = 1
}
