import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { cacheFolder } from '../../scripts/stamp.mjs'
import { cpuMicros, machineCpuSeconds } from '../usage.mjs'
import { isFullRun, readOptions, usage } from './options.mjs'
import { makeReport, writeReport } from './report.mjs'
import { runAll } from './run.mjs'
import { findBroken } from './verdict.mjs'

/** Runs what the words of a command line ask for. Gives the exit code. */
async function main(words) {
  const options = readOptions(words)
  if (options.wrong !== undefined) return tell(`${options.wrong}\n\n${usage}`, 2)
  if (options.help) return tell(usage, 0)
  const parent = resolve(options.folder ?? join(cacheFolder, 'bench-compaction'))
  await mkdir(parent, { recursive: true })
  const folder = await mkdtemp(join(parent, 'run-'))
  try {
    return await measure({ ...options, folder })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function measure(options) {
  // Progress is for who waits; only the report goes to standard output.
  const usedElsewhere = watchOthers()
  const run = await runAll(options, (line) => console.error(line))
  run.busy = usedElsewhere()
  const report = makeReport(run, options)
  console.log(report)
  const hasReal = run.transcripts.some(({ source }) => source === 'real')
  if (isFullRun(options) && hasReal) await writeReport(report)
  else
    console.error('\na short run, or one without real transcripts: bench/compaction/README.md stays as it is')
  const broken = findBroken(run.samples)
  for (const line of broken) console.error(`\nFAILED  ${line}`)
  return broken.length === 0 ? 0 : 1
}

/** Begins to watch; gives how many processors others used since then, where the system can say that. */
function watchOthers() {
  const read = () => [machineCpuSeconds(), cpuMicros() / 1e6, performance.now() / 1e3]
  const from = read()
  return () => {
    if (from[0] === undefined) return undefined
    const [machine, own, elapsed] = read().map((value, index) => value - from[index])
    return Math.max(0, (machine - own) / elapsed)
  }
}

function tell(text, code) {
  console.log(text)
  return code
}

process.exitCode = await main(process.argv.slice(2))
