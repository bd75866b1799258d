import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, sep } from 'node:path'
import { runNode, toolPath } from './command.mjs'
import { setUp } from './setup.mjs'

/**
 * The long run, and its figures in a table at the end; the whole of it mutates the recovery rule, too.
 * `TIDEMARK_LONG_STATES`, `TIDEMARK_LONG_KILLS`, `TIDEMARK_LONG_CUTS` and `TIDEMARK_LONG_EVENTS` make it shorter, and so
 * do words that the names of files have.
 */
setUp()
const folder = mkdtempSync(join(tmpdir(), 'tidemark-long-run-'))
const figures = join(folder, 'figures.jsonl')
const env = { ...process.env, TIDEMARK_LONG_FOLDER: folder, TIDEMARK_LONG_FIGURES: figures }
const filters = process.argv.slice(2)
const vitest = [toolPath('vitest'), 'run', '--config', 'vitest.long.config.ts', ...filters]
const codes = [await runNode(vitest, env)]
if (filters.length === 0) codes.push(await runNode([toolPath('@stryker-mutator/core', 'stryker'), 'run']))
process.exitCode = codes.find((code) => code !== 0) ?? 0
if (existsSync(figures)) printFigures(readFileSync(figures, 'utf8'))
unmountAllIn(folder)
rmSync(folder, { recursive: true, force: true })

function printFigures(text) {
  const rows = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  console.table(Object.fromEntries(rows.map(({ what, figures: each }) => [what, each])))
}

/** A run that was cut short may have left what it mounted: that is in its own folder, and nothing else is touched. */
function unmountAllIn(place) {
  if (!existsSync('/proc/self/mounts')) return
  const mounted = readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[1] ?? '')
  for (const path of mounted.filter((each) => each.startsWith(place + sep))) {
    console.log(`unmounts ${path}, which the run left behind`)
    spawnSync('umount', [path], { stdio: 'inherit' }) // its loop device goes with it
  }
}
